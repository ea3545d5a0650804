// Command search finds the lines of a file that mean what a question means, though they share no word with it.
//
//	make models
//	go run -tags onnx ./examples/search -q "how do I treat a burn?" examples/search/notes.jsonl
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/examples/internal/vec"
)

func main() {
	q := flag.String("q", "what can I cook tonight?", "question")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: search -q QUESTION FILE.jsonl, with a column text")
	}
	if err := run(context.Background(), os.Stdout, flag.Arg(0), *q); err != nil {
		log.Fatal(err)
	}
}

// embed gives the vector of one text.
func embed(ctx context.Context, s *sluice.Session, text string) ([]float32, error) {
	f, err := os.CreateTemp("", "question-*.jsonl")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(json.NewEncoder(f).Encode(map[string]string{"text": text}), f.Close()); err != nil {
		return nil, err
	}
	rows, err := s.ReadJSONL(f.Name()).Embed("onnx:minilm", "text").Take(ctx, 1)
	if err != nil {
		return nil, err
	}
	return vec.Of(rows[0]["embedding"]), nil
}

type note struct {
	text string
	near float32
}

func run(ctx context.Context, w io.Writer, file, q string) error {
	s, err := sluice.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	goal, err := embed(ctx, s, q)
	if err != nil {
		return err
	}
	var notes []note
	for r, err := range s.ReadJSONL(file).Embed("onnx:minilm", "text").Rows(ctx) {
		if err != nil {
			return err
		}
		if text, ok := r["text"].(string); ok {
			notes = append(notes, note{text, vec.Dot(goal, vec.Of(r["embedding"]))})
		}
	}
	slices.SortFunc(notes, func(a, b note) int {
		if a.near > b.near {
			return -1
		}
		return 1
	})
	fmt.Fprintf(w, "%s\n", q)
	for _, n := range notes[:min(3, len(notes))] {
		fmt.Fprintf(w, "  %.2f  %s\n", n.near, n.text)
	}
	return nil
}
