// Command custom-operator shows how to write an operator of your own: a Spec that describes it and an Operator that does it, in redact.go. It
// is used in two ways: directly with Via, and by its name after it was registered.
//
//	go run ./examples/custom-operator
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/sluice-data/sluice"
)

const mails = `{"id":1,"text":"write to ada@example.org or bob.b@mail.example.com"}
{"id":2,"text":"no address here"}
{"id":3,"text":null}
`

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "custom-operator-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mails.jsonl")
	if err := os.WriteFile(path, []byte(mails), 0o600); err != nil {
		return err
	}
	s, err := sluice.Open(ctx, sluice.WithOrdered())
	if err != nil {
		return err
	}
	defer s.Close()

	// Directly.
	spec, err := Redact(Params{Column: "text", With: "<address>"})
	if err != nil {
		return err
	}
	if err := write(ctx, w, s.Read(path).Via(spec)); err != nil {
		return err
	}

	// By name.
	if err := s.Registry().AddOperators(Def); err != nil {
		return err
	}
	return write(ctx, w, s.Read(path).Step("redact", "text").Limit(1))
}

func write(ctx context.Context, w io.Writer, ds sluice.Dataset) error {
	for row, err := range ds.Rows(ctx) {
		if err != nil {
			return err
		}
		fmt.Fprintln(w, row["id"], row["text"])
	}
	return nil
}
