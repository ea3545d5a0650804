package prep

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/media"
)

// Picture makes tensors of pictures.
type Picture struct {
	Tensor, Column string
	Rule           media.InputRule
}

// Columns implements Feature.
func (p *Picture) Columns() []string { return []string{p.Column} }

// Check implements Feature.
func (p *Picture) Check(s *arrow.Schema) error {
	at, err := dataset.FieldIndex(s, p.Column)
	if err != nil {
		return err
	}
	if _, err := media.IsPicture(s.Field(at).Type); err != nil {
		return fmt.Errorf("column %q: %w", p.Column, err)
	}
	return nil
}

// Bind implements Feature.
func (p *Picture) Bind(s *arrow.Schema, m Target) (Bound, error) {
	if err := p.Check(s); err != nil {
		return nil, err
	}
	in, ok := m.input(p.Tensor)
	if !ok {
		return nil, fmt.Errorf("the model has no input %q; it has %s", p.Tensor, inputNames(m.Inputs))
	}
	if in.Type == gpu.Bytes {
		return nil, fmt.Errorf("input %q of the model takes %s, the card gives it a picture", in.Name, in.Type)
	}
	at := s.FieldIndices(p.Column)[0]
	b := &pictureBound{Picture: p, at: at, in: in, dt: s.Field(at).Type, batched: m.Batched, want: m.row(in)}
	if n := len(b.want); n != 3 && n != 4 {
		return nil, fmt.Errorf("input %q of the model takes %v a row, no picture", in.Name, b.want)
	}
	var err error
	if b.measure, err = media.NewInput(p.Rule, b.dt); err != nil {
		return nil, err
	}
	if encoded, _ := media.IsPicture(b.dt); encoded && m.Elsewhere != nil {
		b.elsewhere, err = m.Elsewhere(&p.Rule)
	}
	return b, err
}

type pictureBound struct {
	*Picture
	at        int
	in        gpu.TensorInfo
	dt        arrow.DataType
	batched   bool
	want      []int64
	measure   *media.Input     // reads headers only: it holds no memory
	elsewhere *media.Elsewhere // decodes; nil: loaders do
}

// Tensors implements Bound.
func (b *pictureBound) Tensors() []string { return []string{b.in.Name} }

// Null implements Bound.
func (b *pictureBound) Null(r Row) bool { return r.Block.Column(b.at).IsNull(r.Index) }

// shape is that of one row of the model's rank.
func (b *pictureBound) shape(g *media.Geometry) []int64 {
	ch := int64(b.Rule.Channels())
	s := []int64{ch, int64(g.H), int64(g.W)}
	if b.Rule.HWC {
		s = []int64{int64(g.H), int64(g.W), ch}
	}
	if len(b.want) == 4 { // a model without batch dimension, whose own first dimension is 1
		s = append([]int64{1}, s...)
	}
	return s
}

// Measure implements Bound.
func (b *pictureBound) Measure(r Row) (Size, error) {
	g, err := b.measure.Measure(r.Block.Column(b.at), r.Index)
	if err != nil {
		return Size{}, err
	}
	s := b.shape(&g)
	if !fits(b.want, s) {
		return Size{}, fmt.Errorf("the card makes %v of a picture of %dx%d, and input %q of the model takes %v", s, g.Width, g.Height, b.in.Name, b.want)
	}
	size := Size{Bytes: int64(g.W*g.H*b.Rule.Channels()) * int64(b.in.Type.Size()), Scratch: g.Scratch}
	if b.in.Type != gpu.FP32 {
		size.Scratch += int64(g.W*g.H*b.Rule.Channels()) * 4
	}
	if b.Rule.Fit == "height" || b.Rule.Fit == "limit" {
		size.Key = fmt.Sprintf("%dx%d", g.W, g.H)
	}
	return size, nil
}

// Loader implements Bound.
func (b *pictureBound) Loader() Loader { return &pictureLoader{pictureBound: b} }

type pictureLoader struct {
	*pictureBound
	input *media.Input
	buf   []float32
	sizes []media.Geometry // by slot
}

// Begin implements Loader.
func (l *pictureLoader) Begin(rows []Row) ([]gpu.Tensor, error) {
	if l.input == nil {
		in, err := media.NewInput(l.Rule, l.dt)
		if err != nil {
			return nil, err
		}
		in.DecodeElsewhere(l.elsewhere)
		l.input = in
	}
	g, err := l.measure0(rows[0])
	if err != nil {
		return nil, err
	}
	l.sizes = make([]media.Geometry, len(rows))
	return []gpu.Tensor{{Name: l.in.Name, Type: l.in.Type, Shape: whole(l.batched, len(rows), l.shape(&g))}}, nil
}

func (l *pictureLoader) measure0(r Row) (media.Geometry, error) {
	return l.input.Measure(r.Block.Column(l.at), r.Index)
}

// Fill implements Loader.
func (l *pictureLoader) Fill(ctx context.Context, slot int, r Row, t []gpu.Tensor) error {
	g, err := l.measure0(r)
	if err != nil {
		return err
	}
	n := g.W * g.H * l.Rule.Channels()
	dst := slotBytes(&t[0], slot, n*t[0].Type.Size())
	floats, direct := asFloats(dst, t[0].Type)
	if !direct {
		if cap(l.buf) < n {
			l.buf = make([]float32, n)
		}
		floats = l.buf[:n]
	}
	if err := l.input.Fill(ctx, floats, r.Block.Column(l.at), r.Index, g); err != nil {
		return err
	}
	l.sizes[slot] = g
	if direct {
		return nil
	}
	return each(n, func(i int) error { return gpu.PutFloat(dst, t[0].Type, i, float64(floats[i])) })
}

// Picture tells the sizes of the picture in a slot, for answers that speak of places in it.
func (l *pictureLoader) Picture(slot int) media.Geometry { return l.sizes[slot] }

// Close implements Loader.
func (l *pictureLoader) Close() {
	if l.input != nil {
		l.input.Close()
	}
}
