// Command filetypes tells what files are by their contents, whatever they are called, and counts them.
//
//	make models
//	go run -tags onnx ./examples/filetypes examples
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sluice-data/sluice"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: filetypes FOLDER")
	}
	if err := run(context.Background(), os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, folder string) error {
	s, err := sluice.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	count, example := map[string]int{}, map[string]string{}
	for r, err := range s.ReadBinary(folder+"/**/*").Infer("onnx:magika", "data -> kind, score").Drop("data").Rows(ctx) {
		if err != nil {
			return err
		}
		kind, sure := r["kind"].(string)
		if !sure { // null: too little to look at, or like nothing the model knows
			kind = "(no idea)"
		}
		count[kind]++
		if name := path.Base(r["path"].(string)); example[kind] == "" || name < example[kind] {
			example[kind] = name
		}
	}
	kinds := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	for _, k := range kinds {
		fmt.Fprintf(w, "%-12s %4d %s  as %s\n", k, count[k], strings.Repeat("▪", min(count[k], 40)), example[k])
	}
	return nil
}
