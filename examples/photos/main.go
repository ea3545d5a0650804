// Command photos curates a folder of photos, as job.yaml beside it does: what cannot be decoded is set aside, the small and the featureless
// are dropped, near-duplicates are marked, and what is left is scaled to 224x224 with quality scores.
//
//	go run ./examples/photos -in testdata/photos -out photos.parquet
//	sluice run examples/photos/job.yaml --on-error skip --set out=photos.parquet
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/sluice-data/sluice"
)

func main() {
	in := flag.String("in", "testdata/photos", "folder of photos")
	out := flag.String("out", "photos.parquet", "result")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *in, *out); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, in, out string) error {
	s, err := sluice.Open(ctx, sluice.WithOnError(sluice.Skip))
	if err != nil {
		return err
	}
	defer s.Close()
	report, err := s.Read(in+"/**/*.{jpg,png,webp,tif,gif}").
		Decode().
		Filter("width >= 128 and height >= 128").
		Score().
		Filter("entropy > 1").
		PHash().
		MarkDuplicates("phash", 6).
		Resize(224, 224).
		Encode("jpeg", 85).
		WriteParquet(out).
		Run(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "read %d photos, wrote %d, set %d aside\n", report.RowsRead, report.RowsWritten, report.RowsFailed)
	for _, f := range report.Failures {
		fmt.Fprintf(w, "  %s: %d\n", f.Class, f.Count)
	}

	copies, err := s.ReadParquet(out).Filter("duplicate_of != nil").Count(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d of them look like another one\n", copies)
	return nil
}
