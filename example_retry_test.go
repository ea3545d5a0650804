package sluice_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/sluice-data/sluice"
)

// Failed rows are kept beside the result, and tried again with a plan that can take them.
func ExampleSession_Retry() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sluice-example-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(in, []byte("{\"n\":\"1\"}\n{\"n\":\"two\"}\n{\"n\":\"3\"}\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	s, err := sluice.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	first, err := s.ReadJSONL(in).With("value", "int(n)").WriteJSONL(out).Run(ctx, sluice.WithOnError(sluice.DeadLetter))
	if err != nil {
		log.Fatal(err)
	}
	again, err := s.Retry(ctx, "", s.ReadJSONL(in).With("value", "try_cast(n, \"int64\")").WriteJSONL(out))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.RowsFailed, "failed,", again.RowsWritten, "row came of the retry")
	// Output: 1 failed, 1 row came of the retry
}
