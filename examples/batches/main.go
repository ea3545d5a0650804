// Command batches feeds a training loop: photos become tensors of one size, and the loop gets them as Arrow columns, a batch at a time. Nothing is
// written; leaving the loop ends the run.
//
//	go run ./examples/batches -photos testdata/photos -steps 3
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice"
)

const (
	side  = 32 // pixels
	batch = 8  // pictures a step
)

func main() {
	photos := flag.String("photos", "testdata/photos", "folder of photos")
	steps := flag.Int("steps", 3, "steps to train")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *photos, *steps); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, photos string, steps int) error {
	s, err := sluice.Open(ctx, sluice.WithOnError(sluice.Skip), sluice.WithOrdered())
	if err != nil {
		return err
	}
	defer s.Close()
	tensors := s.ReadImages(photos).
		Decode().
		Resize(side, side, "fit=fill").
		ToTensor(side, side, "mean=0.5", "std=0.5").
		Select("image").
		Repartition(batch)

	var m model
	for epoch := 1; m.steps < steps; epoch++ {
		for b, err := range tensors.Blocks(ctx) {
			if err != nil {
				return err
			}
			if b.NumRows() < batch {
				break // the rest of an epoch is no full batch
			}
			if m.steps == steps {
				return nil // ends the run and waits for it
			}
			loss := m.train(values(b.ColumnByName("image").(array.ExtensionArray)), b.NumRows())
			fmt.Fprintf(w, "epoch %d step %d: %d pictures, loss %.3f\n", epoch, m.steps, b.NumRows(), loss)
		}
		if m.steps == 0 {
			return fmt.Errorf("train: %s has fewer than %d pictures", photos, batch)
		}
	}
	return nil
}

// values are the numbers of all tensors of a batch, one after the other, viewed where they lie. They are valid until the next iteration.
func values(tensors array.ExtensionArray) []float32 {
	list := tensors.Storage().(*array.FixedSizeList)
	n := 3 * side * side
	return list.ListValues().(*array.Float32).Float32Values()[list.Offset()*n : (list.Offset()+list.Len())*n]
}

// model learns the mean of its inputs, which stands for something more useful.
type model struct {
	steps int
	mean  float64
}

func (m *model) train(x []float32, pictures int) (loss float64) {
	var sum float64
	for _, v := range x {
		d := float64(v) - m.mean
		loss += d * d
		sum += float64(v)
	}
	m.steps++
	m.mean += (sum/float64(len(x)) - m.mean) / float64(m.steps)
	return loss / float64(len(x)/pictures) / float64(pictures)
}
