// Command rawloop is the yardstick of benchmark B1: the library calls that `decode | resize 224x224 | encode jpeg 75` makes, in a bare
// loop on all cores, with nothing of the engine around them: read a file, decode it scaled, resize, encode, next.
//
//	go run ./operators/media/internal/rawloop 'DIR/*.jpg' [standard]
//
// It prints the number of photos and the seconds they took. With "standard" it uses Go's own JPEG codec.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rawloop:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: rawloop 'DIR/*.jpg' [standard]")
	}
	files, err := filepath.Glob(args[0])
	if err != nil {
		return err
	}
	p := &imaging.Program{Steps: []imaging.Step{imaging.Resize{W: 224, H: 224}, imaging.Compress{Options: imaging.EncodeOptions{Format: imaging.JPEG, Quality: 75}}}}
	begun := time.Now()
	var next, bytes atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			w := imaging.NewWorker()
			if len(args) > 1 && args[1] == "standard" {
				w = imaging.NewStandardWorker()
			}
			defer w.Close()
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				n, err := one(w, p, files[i])
				if err != nil {
					failed.Store(&err)
					return
				}
				bytes.Add(int64(n))
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	fmt.Printf("%d photos, %d bytes out, %.3f s\n", len(files), bytes.Load(), time.Since(begun).Seconds())
	return nil
}

// one makes one thumbnail and returns its size.
func one(w *imaging.Worker, p *imaging.Program, name string) (int, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	w.Reset()
	h, err := imaging.ReadHeader(data, imaging.DefaultLimits)
	if err != nil {
		return 0, err
	}
	out, err := w.Run(p, data, h)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return len(out.Data), nil
}
