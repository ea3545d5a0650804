package prep

import (
	"slices"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/media"
)

// one makes the tensor of one row, of zeros; ok is false if its size is not known.
func (m Target) one(name string, t gpu.TensorInfo, row []int64) (gpu.Tensor, bool) {
	if slices.ContainsFunc(row, func(d int64) bool { return d < 0 }) || t.Type.Size() == 0 {
		return gpu.Tensor{}, false
	}
	x := gpu.Tensor{Name: name, Type: t.Type, Shape: whole(m.Batched, 1, row)}
	x.Data = make([]byte, x.Len()*int64(t.Type.Size()))
	return x, true
}

// Largest implements Feature.
func (p *Picture) Largest(m Target) ([]gpu.Tensor, bool) {
	in, ok := m.input(p.Tensor)
	if !ok {
		return nil, false
	}
	b := &pictureBound{Picture: p, want: m.row(in)}
	g := media.Geometry{}
	g.W, g.H = p.Rule.Most()
	t, ok := m.one(in.Name, in, b.shape(&g))
	return []gpu.Tensor{t}, ok
}

// Largest implements Feature.
func (t *Text) Largest(m Target) ([]gpu.Tensor, bool) {
	most := t.MaxTokens
	if most == 0 {
		tok, err := t.Tokenizer()
		if err != nil {
			return nil, false
		}
		most = tok.MaxTokens
	}
	if most == 0 {
		most = mostTokens
	}
	var ts []gpu.Tensor
	for _, name := range []string{t.IDs, t.Mask, t.Types} {
		if name == "" {
			continue
		}
		in, ok := m.input(name)
		if !ok {
			return nil, false
		}
		row := slices.Clone(m.row(in))
		for i := range row {
			if row[i] < 0 {
				row[i] = int64(most)
			}
		}
		x, ok := m.one(name, in, row)
		if !ok {
			return nil, false
		}
		ts = append(ts, x)
	}
	return ts, true
}

// Largest implements Feature.
func (w *Window) Largest(m Target) ([]gpu.Tensor, bool) {
	in, ok := m.input(w.Tensor)
	if !ok {
		return nil, false
	}
	t, ok := m.one(in.Name, in, []int64{int64(w.Head + w.Tail)})
	return []gpu.Tensor{t}, ok
}

// Largest implements Feature.
func (c *Constant) Largest(m Target) ([]gpu.Tensor, bool) {
	in, ok := m.input(c.Tensor)
	if !ok {
		return nil, false
	}
	shape := c.Shape
	if shape == nil {
		shape = m.row(in)
	}
	t, ok := m.one(in.Name, in, shape)
	return []gpu.Tensor{t}, ok
}

// Largest implements Feature: columns may hold anything that the model takes.
func (r *Raw) Largest(m Target) ([]gpu.Tensor, bool) {
	in, ok := m.input(r.Tensor)
	if !ok {
		return nil, false
	}
	t, ok := m.one(in.Name, in, m.row(in))
	return []gpu.Tensor{t}, ok
}

// probeSeconds is how long a sound is taken to be that a model's size is measured with; longer ones are taken to need more in proportion.
const probeSeconds = 30

// Largest implements Feature.
func (a *Audio) Largest(m Target) ([]gpu.Tensor, bool) {
	in, ok := m.input(a.Tensor)
	if !ok || a.Window == 0 {
		return nil, false
	}
	t, ok := m.one(in.Name, in, []int64{int64(probeSeconds * a.Rate / a.Window), int64(a.Window + a.Context)})
	return []gpu.Tensor{t}, ok
}
