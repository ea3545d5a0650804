package prep

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/go-audio/audio"
	"github.com/go-audio/wav"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
)

// Audio gives windows of a WAV file to a model: one row of so many old and new samples each, from -1 to 1, of all channels together.
type Audio struct {
	Tensor, Column string
	Rate           int // samples a second that the model takes; files of a multiple are reduced
	Window         int // new samples a window
	Context        int // samples of the window before, in front of them
}

// Columns implements Feature.
func (a *Audio) Columns() []string { return []string{a.Column} }

// Check implements Feature.
func (a *Audio) Check(s *arrow.Schema) error {
	at, err := dataset.FieldIndex(s, a.Column)
	if err != nil {
		return err
	}
	if c, err := cellsOf(storageOf(s.Field(at).Type)); err != nil || !c.text {
		return fmt.Errorf("column %q is %s; the card takes WAV files", a.Column, s.Field(at).Type)
	}
	return nil
}

// Bind implements Feature.
func (a *Audio) Bind(s *arrow.Schema, m Target) (Bound, error) {
	if err := a.Check(s); err != nil {
		return nil, err
	}
	in, ok := m.input(a.Tensor)
	if !ok || in.Type != gpu.FP32 {
		return nil, fmt.Errorf("the model has no input %q of FP32; it has %s", a.Tensor, inputNames(m.Inputs))
	}
	row := m.row(in)
	if m.Batched || len(row) != 2 || row[0] >= 0 || row[1] != int64(a.Window+a.Context) && row[1] >= 0 {
		return nil, fmt.Errorf("input %q of the model takes %v, and the card makes [-1 %d] of a row", in.Name, row, a.Window+a.Context)
	}
	return &audioBound{a, s.FieldIndices(a.Column)[0], in}, nil
}

type audioBound struct {
	*Audio
	at int
	in gpu.TensorInfo
}

// Tensors implements Bound.
func (b *audioBound) Tensors() []string { return []string{b.in.Name} }

// Null implements Bound.
func (b *audioBound) Null(r Row) bool { return r.Block.Column(b.at).IsNull(r.Index) }

// maxSeconds bounds a file: ten hours.
const maxSeconds = 36000

// header reads what the file says of itself, and how many samples of the model's rate it has at most.
func (b *audioBound) header(r Row) (d *wav.Decoder, samples, step int, err error) {
	file := bytesOf(storage(r.Block.Column(b.at)), r.Index)
	d = wav.NewDecoder(bytes.NewReader(file))
	if !d.IsValidFile() {
		return nil, 0, 0, errors.New("it is no WAV file; ffmpeg -i FILE -ar 16000 -ac 1 FILE.wav makes one")
	}
	rate, ch, bits := int(d.SampleRate), int(d.NumChans), int(d.BitDepth)
	switch {
	case d.WavAudioFormat != 1 && d.WavAudioFormat != 0xFFFE:
		return nil, 0, 0, fmt.Errorf("its samples are coded (format %d), plain PCM is read; ffmpeg -i FILE -c:a pcm_s16le FILE.wav makes it", d.WavAudioFormat)
	case rate < b.Rate || rate%b.Rate != 0:
		return nil, 0, 0, fmt.Errorf("it has %d samples a second, the model takes %d or a multiple; ffmpeg -i FILE -ar %d FILE.wav makes it", rate, b.Rate, b.Rate)
	case ch < 1 || ch > 64 || bits != 8 && bits != 16 && bits != 24 && bits != 32:
		return nil, 0, 0, fmt.Errorf("it has %d channels of %d bits", ch, bits)
	}
	step = rate / b.Rate
	samples = len(file) / (bits / 8) / ch / step
	if samples > maxSeconds*b.Rate {
		return nil, 0, 0, fmt.Errorf("it is longer than %d s; cut it", maxSeconds)
	}
	return d, samples, step, nil
}

// Measure implements Bound.
func (b *audioBound) Measure(r Row) (Size, error) {
	d, samples, step, err := b.header(r)
	if err != nil {
		return Size{}, err
	}
	n := int64(samples/b.Window + 1)
	return Size{Bytes: n * int64(b.Window+b.Context) * 4, Scratch: int64(samples)*4 + int64(chunk*int(d.NumChans)*8*step)}, nil
}

// Loader implements Bound.
func (b *audioBound) Loader() Loader { return &audioLoader{audioBound: b} }

type audioLoader struct {
	*audioBound
	samples []float32
}

// chunk is how many samples a channel are decoded at once.
const chunk = 4096

// Begin implements Loader: it decodes, since the shape depends on it. There is one row.
func (l *audioLoader) Begin(rows []Row) ([]gpu.Tensor, error) {
	l.samples = l.samples[:0]
	n := 1
	if err := l.decode(rows[0]); err == nil { // Fill reports what is wrong with the row
		n = max(1, (len(l.samples)+l.Window-1)/l.Window)
	}
	return []gpu.Tensor{{Name: l.in.Name, Type: l.in.Type, Shape: []int64{int64(n), int64(l.Window + l.Context)}}}, nil
}

// decode reads all samples: the mean of channels, and of as many neighbours as the rate is a multiple.
func (l *audioLoader) decode(r Row) error {
	d, samples, step, err := l.header(r)
	if err != nil {
		return err
	}
	ch := int(d.NumChans)
	scale := 1 / (float32(step*ch) * float32(int64(1)<<(d.BitDepth-1)))
	middle := 0
	if d.BitDepth == 8 { // 8-bit files count from 0
		middle = 128
	}
	buf := &audio.IntBuffer{Data: make([]int, chunk*ch*step), Format: &audio.Format{NumChannels: ch, SampleRate: int(d.SampleRate)}}
	for len(l.samples) < samples {
		n, err := d.PCMBuffer(buf)
		if err != nil {
			return fmt.Errorf("read WAV: %w", err)
		}
		if n == 0 {
			break
		}
		for at := 0; at+ch*step <= n; at += ch * step {
			sum := 0
			for _, v := range buf.Data[at : at+ch*step] {
				sum += v - middle
			}
			l.samples = append(l.samples, float32(sum)*scale)
		}
	}
	if len(l.samples) == 0 {
		return errors.New("read WAV: it has no samples")
	}
	return nil
}

// Fill implements Loader.
func (l *audioLoader) Fill(_ context.Context, _ int, r Row, t []gpu.Tensor) error {
	if len(l.samples) == 0 {
		if err := l.decode(r); err != nil {
			return err
		}
	}
	row := l.Window + l.Context
	dst := t[0].Data
	clear(dst)
	for w := range int(t[0].Shape[0]) {
		for x := range row {
			at := w*l.Window + x - l.Context
			if at < 0 || at >= len(l.samples) {
				continue
			}
			if err := gpu.PutFloat(dst, gpu.FP32, w*row+x, float64(l.samples[at])); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close implements Loader.
func (*audioLoader) Close() {}
