// Command ocr reads text from pictures of pages: one model finds the lines, each is cut out, another reads them. All of it is one pipeline.
//
//	make models
//	go run -tags onnx ./examples/ocr examples/ocr/receipt.png
//	sluice 'page.png | infer onnx:ppocr-det image | crop-boxes boxes | infer onnx:ppocr-rec image | select path, text, confidence'
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/sluice-data/sluice"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: ocr PICTURE…")
	}
	if err := run(context.Background(), os.Stdout, os.Args[1:]...); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, pages ...string) error {
	s, err := sluice.Open(ctx, sluice.WithOrdered())
	if err != nil {
		return err
	}
	defer s.Close()
	lines := s.Read(pages...).
		Infer("onnx:ppocr-det", "image -> boxes").
		Step("crop-boxes", "boxes").
		Infer("onnx:ppocr-rec", "image -> text, confidence").
		Drop("image").
		Filter("confidence > 0.5")
	page, bottom := "", int32(0)
	for r, err := range lines.Rows(ctx) {
		if err != nil {
			return err
		}
		box := r["boxes"].(sluice.Row)
		x, y, h := box["x"].(int32), box["y"].(int32), box["height"].(int32)
		switch {
		case r["path"] != page:
			page = r["path"].(string)
			fmt.Fprintf(w, "── %s\n", page)
		case y > bottom-h/2: // a new line
			fmt.Fprintln(w)
		default:
			fmt.Fprint(w, "  ")
		}
		bottom = y + h
		fmt.Fprint(w, strings.Repeat(" ", int(x)/200), r["text"])
	}
	fmt.Fprintln(w)
	return nil
}
