package prep

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/infer/internal/token"
)

// Text gives the tokens of a text to a model, padded to the longest of the request.
type Text struct {
	Column           string
	IDs, Mask, Types string // inputs; Mask and Types may be empty
	Tokenizer        func() (*token.Tokenizer, error)
	MaxTokens        int // 0: as the tokenizer says, else mostTokens
}

// mostTokens is how many tokens a text may have where nobody says.
const mostTokens = 512

// Columns implements Feature.
func (t *Text) Columns() []string { return []string{t.Column} }

// Check implements Feature.
func (t *Text) Check(s *arrow.Schema) error {
	at, err := dataset.FieldIndex(s, t.Column)
	if err != nil {
		return err
	}
	switch s.Field(at).Type.ID() {
	case arrow.STRING, arrow.LARGE_STRING:
		return nil
	}
	return fmt.Errorf("column %q is %s; the card takes text", t.Column, s.Field(at).Type)
}

// Bind implements Feature.
func (t *Text) Bind(s *arrow.Schema, m Target) (Bound, error) {
	if err := t.Check(s); err != nil {
		return nil, err
	}
	tok, err := t.Tokenizer()
	if err != nil {
		return nil, err
	}
	b := &textBound{Text: t, at: s.FieldIndices(t.Column)[0], tok: tok, batched: m.Batched, most: t.MaxTokens, fixed: -1}
	if b.most == 0 {
		b.most = tok.MaxTokens
	}
	if b.most == 0 {
		b.most = mostTokens
	}
	for _, name := range []string{t.IDs, t.Mask, t.Types} {
		if name == "" {
			continue
		}
		in, ok := m.input(name)
		if !ok || in.Type != gpu.Int64 && in.Type != gpu.Int32 {
			return nil, fmt.Errorf("the model has no input %q of whole numbers; it has %s", name, inputNames(m.Inputs))
		}
		row := m.row(in)
		if m.Batched && len(row) != 1 || !m.Batched && len(row) != 2 {
			return nil, fmt.Errorf("input %q of the model takes %v a row, no text", name, row)
		}
		if last := row[len(row)-1]; last > 0 {
			b.fixed, b.most = last, min(b.most, int(last))
		}
		b.in = append(b.in, in)
	}
	return b, nil
}

type textBound struct {
	*Text
	at      int
	tok     *token.Tokenizer
	in      []gpu.TensorInfo // ids, and those of mask and types that there are
	batched bool
	most    int
	fixed   int64 // tokens that the model takes; -1: any
}

// Tensors implements Bound.
func (b *textBound) Tensors() []string {
	out := make([]string, len(b.in))
	for i, t := range b.in {
		out[i] = t.Name
	}
	return out
}

// Null implements Bound.
func (b *textBound) Null(r Row) bool { return r.Block.Column(b.at).IsNull(r.Index) }

// Measure implements Bound. A token takes a byte at least.
func (b *textBound) Measure(r Row) (Size, error) {
	n := min(b.most, len(textOf(r.Block.Column(b.at), r.Index))+4)
	if b.fixed > 0 {
		n = int(b.fixed)
	}
	return Size{Bytes: int64(n * 8 * len(b.in)), Scratch: int64(n * 8)}, nil
}

func textOf(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.LargeString:
		return a.Value(i)
	}
	return ""
}

// Loader implements Bound.
func (b *textBound) Loader() Loader { return &textLoader{textBound: b} }

type textLoader struct {
	*textBound
	rows  []Row
	ids   []int64
	ends  []int // of ids, by row
	width int
}

// Begin implements Loader: it tokenizes, since the shape depends on it.
func (l *textLoader) Begin(rows []Row) ([]gpu.Tensor, error) {
	l.rows, l.ids, l.ends, l.width = rows, l.ids[:0], l.ends[:0], 1
	for _, r := range rows {
		from := len(l.ids)
		text := strings.ToValidUTF8(textOf(r.Block.Column(l.at), r.Index), "\uFFFD")
		l.ids = l.tok.Encode(l.ids, text, l.most)
		l.ends = append(l.ends, len(l.ids))
		l.width = max(l.width, len(l.ids)-from)
	}
	if l.fixed > 0 {
		l.width = int(l.fixed)
	}
	var ts []gpu.Tensor
	for _, in := range l.in {
		shape := []int64{int64(len(rows)), int64(l.width)}
		ts = append(ts, gpu.Tensor{Name: in.Name, Type: in.Type, Shape: shape})
	}
	return ts, nil
}

// Fill implements Loader.
func (l *textLoader) Fill(_ context.Context, slot int, r Row, t []gpu.Tensor) error {
	i := 0
	for l.rows[i] != r {
		i++
	}
	from := 0
	if i > 0 {
		from = l.ends[i-1]
	}
	ids := l.ids[from:l.ends[i]]
	if len(ids) == 0 {
		return fmt.Errorf("column %q: the text has no tokens", l.Column)
	}
	for k := range t {
		size := t[k].Type.Size()
		dst := slotBytes(&t[k], slot, l.width*size)
		for x := range l.width {
			v := int64(0)
			switch {
			case t[k].Name == l.IDs && x < len(ids):
				v = ids[x]
			case t[k].Name == l.IDs:
				v = l.tok.PadID
			case t[k].Name == l.Mask && x < len(ids):
				v = 1
			}
			if err := gpu.PutInt(dst, t[k].Type, x, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close implements Loader.
func (*textLoader) Close() {}
