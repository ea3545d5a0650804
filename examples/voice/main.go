// Command voice tells when somebody speaks in WAV files, on a line of time.
//
//	make models
//	go run -tags onnx ./examples/voice examples/voice/speech.wav
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/examples/internal/vec"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: voice FILE.wav…")
	}
	for _, f := range os.Args[1:] {
		if err := run(context.Background(), os.Stdout, f); err != nil {
			log.Fatal(err)
		}
	}
}

// bars are heights of the curve.
var bars = []rune(" ▁▂▃▄▅▆▇█")

func run(ctx context.Context, w io.Writer, file string) error {
	s, err := sluice.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	sound := s.ReadBinary(file).Infer("onnx:silero-vad", "data -> speech, probabilities").Drop("data")
	for r, err := range sound.Rows(ctx) {
		if err != nil {
			return err
		}
		curve := vec.Of(r["probabilities"])
		line := make([]rune, 0, 80)
		for i := range 80 {
			from, to := i*len(curve)/80, max((i+1)*len(curve)/80, i*len(curve)/80+1)
			most := float32(0)
			for _, p := range curve[min(from, len(curve)):min(to, len(curve))] {
				most = max(most, p)
			}
			line = append(line, bars[int(most*float32(len(bars)-1)+0.5)])
		}
		fmt.Fprintf(w, "%s\n%s\n", r["path"], string(line))
		for _, x := range r["speech"].([]any) {
			part := x.(sluice.Row)
			fmt.Fprintf(w, "  speech from %.1f s to %.1f s\n", part["start"], part["end"])
		}
	}
	return nil
}
