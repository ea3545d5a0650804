package jsonl_test

import (
	"io"
	"os"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
)

// TestStdin: rows that have arrived are handed on while the writer is still at work, and a limit does not wait for more.
func TestStdin(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	old := file.Stdin
	file.Stdin = file.NewStream(in)
	defer func() { file.Stdin = old }()
	send := func(s string) {
		if _, err := out.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	send("{\"id\": 1}\n{\"id\": 2}\n")
	src := open(t, file.Local{}, "-", jsonl.Options{}, 0)
	splits := connectortest.Splits(t, src, dataset.Cursor{})
	if len(splits) != 1 || splits[0].Ranges[0].File.Path != "-" {
		t.Fatalf("splits %v", splits)
	}
	r, err := src.Open(t.Context(), connectortest.NewRuntime(t), splits[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for rows < 2 {
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows += b.NumRows()
		b.Release()
	}
	send("{\"id\": 3}\n")
	b, err := r.Next(t.Context())
	if err != nil || b.NumRows() != 1 {
		t.Fatal(err)
	}
	b.Release()
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(t.Context()); err != io.EOF {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
