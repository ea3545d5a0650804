// Command lookalikes finds, for each photo, the one that looks most like it: copies and other sizes first, then what shows the like.
//
//	make models
//	go run -tags onnx ./examples/lookalikes testdata/photos
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/examples/internal/vec"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: lookalikes FOLDER")
	}
	if err := run(context.Background(), os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

type photo struct {
	name string
	look []float32
}

func run(ctx context.Context, w io.Writer, in string) error {
	s, err := sluice.Open(ctx, sluice.WithOnError(sluice.Skip), sluice.WithOrdered())
	if err != nil {
		return err
	}
	defer s.Close()
	var photos []photo
	for r, err := range s.Read(in+"/**/*.{jpg,png,webp,tif,gif}").Embed("onnx:efficientnet-lite0", "image").Drop("image").Rows(ctx) {
		if err != nil {
			return err
		}
		photos = append(photos, photo{path.Base(r["path"].(string)), vec.Of(r["embedding"])})
	}
	for i, p := range photos {
		best, like := -1, float32(-1)
		for k, q := range photos {
			if d := vec.Dot(p.look, q.look); k != i && d > like {
				best, like = k, d
			}
		}
		if best < 0 {
			continue
		}
		word := "is a little like"
		switch {
		case like > 0.95:
			word = "is a copy of"
		case like > 0.6:
			word = "looks like"
		}
		fmt.Fprintf(w, "%-24s %-16s %-24s %.2f\n", p.name, word, photos[best].name, like)
	}
	return nil
}
