// Command python runs functions written in Python, on the sample events: a class that scores texts, and a generator that makes a row of each word.
//
//	SLUICE_PYTHON=.venv/bin/python go run ./examples/python examples/data/events.jsonl
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/operators/python"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: python events.jsonl")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Stdout, os.Args[1], "examples/python"); err != nil {
		fmt.Fprintln(os.Stderr, "python:", err)
		os.Exit(1)
	}
}

// run prints the mood of each text and the longest words of all of them. folder is where scorer.py lies.
func run(ctx context.Context, out io.Writer, events, folder string) error {
	s, err := sluice.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	texts := s.ReadJSONL(events).Filter("text != nil")

	scored := texts.Map(python.Class("scorer:Scorer", python.Path(folder), python.Arg("bad", "leider, late, delay"), python.Processes(1)))
	rows, err := scored.Take(ctx, 10)
	if err != nil {
		return err
	}
	for _, r := range rows {
		fmt.Fprintf(out, "%+v  %v words  %v\n", r["mood"], r["words"], r["text"])
	}

	words := texts.Map(python.Func("scorer:words", python.Path(folder), python.Processes(1)))
	rows, err = words.Filter("length(word) > 6").Select("id", "word").Take(ctx, 10)
	if err != nil {
		return err
	}
	for _, r := range rows {
		fmt.Fprintf(out, "%v: %v\n", r["id"], r["word"])
	}
	return nil
}
