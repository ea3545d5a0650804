// Command custom-source shows how to write a source of your own, in source.go. Registered under a name it is found by Read, by pipeline strings and
// by job files; From takes one directly.
//
//	go run ./examples/custom-source
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/sluice-data/sluice"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	s, err := sluice.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Registry().AddSources(Def); err != nil {
		return err
	}

	n, err := s.Read("numbers:1000000").Filter("n % 7 == 0").Count(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, n, "numbers below a million are divisible by 7")

	rows, err := s.Pipeline("numbers:100 split=10 | where n > 50 | with square = n * n").Take(ctx, 2)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, rows)

	src := &numbers{counts: []uint64{3, 2}, split: 2}
	for row, err := range s.From(src).Rows(ctx, sluice.WithOrdered()) {
		if err != nil {
			return err
		}
		fmt.Fprint(w, row["n"], " ")
	}
	fmt.Fprintln(w)
	return nil
}
