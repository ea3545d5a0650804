// Command typed runs functions written in Go on rows: structs in, structs out.
//
//	go run ./examples/typed examples/data/events.jsonl
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/dataset"
)

// Event is a row as it is read. Fields are columns, by name in snake case or by tag; other columns are not read at all.
type Event struct {
	ID    int64
	Text  *string  // a null is nil; in a string it would fail the row
	Lang  string   `sluice:"lang,zero"` // a null is ""
	Score *float64 // integers and floats may be wider than the column, never narrower
}

// Rated is a row as it is written: the columns of Event, which it embeds, and new ones.
type Rated struct {
	Event
	Words   int
	Quality string
}

// errNoText fails a row. Failed rows are counted by the last words of their error.
var errNoText = errors.New("there is no text")

func rate(_ context.Context, e Event) (Rated, error) {
	if e.Text == nil {
		return Rated{}, errNoText
	}
	r := Rated{Event: e, Words: len(strings.Fields(*e.Text)), Quality: "low"}
	if e.Score != nil && *e.Score > 0.9 {
		r.Quality = "high"
	}
	return r, nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: typed FILE.jsonl")
	}
	if err := run(context.Background(), os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, path string) error {
	s, err := sluice.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()

	rated := sluice.MapRows(s.ReadJSONL(path), rate, sluice.FuncName("rate"), sluice.CodeVersion(1))
	good := sluice.FilterRows(rated, func(_ context.Context, r struct{ Quality string }) (bool, error) {
		return r.Quality == "high", nil
	})

	var report dataset.Report
	for r, err := range sluice.Rows[Rated](ctx, good, sluice.WithOrdered(), sluice.WithOnError(sluice.Skip), sluice.WithReport(&report)) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%d %s: %q, %d words\n", r.ID, r.Lang, *r.Text, r.Words)
	}
	for _, f := range report.Failures {
		fmt.Fprintf(w, "left out: %d row, %s\n", f.Count, f.Class)
	}
	return nil
}
