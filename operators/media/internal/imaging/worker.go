package imaging

import (
	"bytes"

	"github.com/sluice-data/sluice/operators/media/internal/avif"
	"github.com/sluice-data/sluice/operators/media/internal/turbo"
)

// Worker turns encoded pictures into pixels and back. It belongs to one goroutine. What its methods
// return lives until Reset or Close.
type Worker struct {
	scratch  arena
	dec      *turbo.Decoder
	enc      *turbo.Encoder
	useTurbo bool
	useHEIF  bool
	sandbox  avif.Sandbox
	tapCache map[span]*taps
	out      bytes.Buffer
}

// NewWorker makes a worker that uses libjpeg-turbo and libheif if the machine has them.
func NewWorker() *Worker { return &Worker{useTurbo: turbo.Available(), useHEIF: true} }

// NewStandardWorker makes a worker that uses no libraries of the machine, to compare against.
func NewStandardWorker() *Worker { return &Worker{} }

// Backend names the JPEG library in use.
func (w *Worker) Backend() string {
	if w.useTurbo {
		return turbo.Describe()
	}
	return "image/jpeg of the Go standard library"
}

// Reset takes back the memory of all pictures made so far and keeps it for the next ones.
func (w *Worker) Reset() {
	w.scratch.reset()
	w.out.Reset()
}

// Trim gives the memory back, for instance after a giant picture. It implies Reset.
func (w *Worker) Trim() {
	w.scratch = arena{}
	w.out = bytes.Buffer{}
	w.sandbox = avif.Sandbox{}
}

// ScratchBytes is the memory that the worker holds.
func (w *Worker) ScratchBytes() int { return w.scratch.bytes() + w.out.Cap() + w.sandbox.Bytes() }

// Close frees the native handles and the scratch memory.
func (w *Worker) Close() {
	if w.dec != nil {
		w.dec.Close()
	}
	if w.enc != nil {
		w.enc.Close()
	}
	*w = Worker{}
}

func (w *Worker) decoder() (*turbo.Decoder, error) {
	if w.dec == nil {
		d, err := turbo.NewDecoder()
		if err != nil {
			return nil, err
		}
		w.dec = d
	}
	return w.dec, nil
}

func (w *Worker) encoder() (*turbo.Encoder, error) {
	if w.enc == nil {
		e, err := turbo.NewEncoder()
		if err != nil {
			return nil, err
		}
		w.enc = e
	}
	return w.enc, nil
}

// newImage makes a picture in scratch memory with undefined contents.
func (w *Worker) newImage(width, height int, model Model, depth int, chroma Chroma) *Image {
	m := &Image{W: width, H: height, Model: model, Depth: depth, Chroma: chroma, SrcW: width, SrcH: height, Scale: 1, Orient: 1}
	for i := range m.planes() {
		pw, ph := m.planeSize(i)
		if model == YCbCr && i == 0 {
			// Native encoders read luma up to whole chroma samples.
			pw, ph = (pw+3)&^3, (ph+3)&^3
		}
		if model != YCbCr {
			pw *= m.bytesPerPixel()
		}
		m.Pix[i], m.Stride[i] = w.scratch.plane(pw, ph)
	}
	return m
}
