package prep

import (
	"bytes"
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
)

// Window gives the first and the last bytes of a file to a model, as numbers.
type Window struct {
	Tensor, Column string
	Head, Tail     int
	Pad            int // what stands where the file is too short
	Block          int // so many bytes at each end are looked at; white space at the ends is left out of them. 0: as they are
	Least          int // a file with fewer bytes to look at has null answers
}

// Columns implements Feature.
func (w *Window) Columns() []string { return []string{w.Column} }

// Check implements Feature.
func (w *Window) Check(s *arrow.Schema) error {
	at, err := dataset.FieldIndex(s, w.Column)
	if err != nil {
		return err
	}
	if c, err := cellsOf(storageOf(s.Field(at).Type)); err != nil || !c.text {
		return fmt.Errorf("column %q is %s; the card takes bytes", w.Column, s.Field(at).Type)
	}
	return nil
}

func storageOf(dt arrow.DataType) arrow.DataType {
	if e, ok := dt.(arrow.ExtensionType); ok {
		return e.StorageType()
	}
	return dt
}

// Bind implements Feature.
func (w *Window) Bind(s *arrow.Schema, m Target) (Bound, error) {
	if err := w.Check(s); err != nil {
		return nil, err
	}
	in, ok := m.input(w.Tensor)
	if !ok || in.Type == gpu.Bytes {
		return nil, fmt.Errorf("the model has no input %q of numbers; it has %s", w.Tensor, inputNames(m.Inputs))
	}
	if !fits(m.row(in), []int64{int64(w.Head + w.Tail)}) {
		return nil, fmt.Errorf("the card makes %d numbers a row, and input %q of the model takes %v", w.Head+w.Tail, in.Name, m.row(in))
	}
	return &windowBound{w, s.FieldIndices(w.Column)[0], in, m.Batched}, nil
}

type windowBound struct {
	*Window
	at      int
	in      gpu.TensorInfo
	batched bool
}

// Tensors implements Bound.
func (b *windowBound) Tensors() []string { return []string{b.in.Name} }

// Null implements Bound.
func (b *windowBound) Null(r Row) bool {
	if c := r.Block.Column(b.at); c.IsNull(r.Index) {
		return true
	} else if b.Least > 0 {
		head, _ := b.ends(bytesOf(storage(c), r.Index))
		return len(head) < b.Least
	}
	return false
}

// Measure implements Bound.
func (b *windowBound) Measure(Row) (Size, error) {
	return Size{Bytes: int64((b.Head + b.Tail) * b.in.Type.Size())}, nil
}

// Loader implements Bound.
func (b *windowBound) Loader() Loader { return &windowLoader{b} }

type windowLoader struct{ *windowBound }

// Begin implements Loader.
func (l *windowLoader) Begin(rows []Row) ([]gpu.Tensor, error) {
	return []gpu.Tensor{{Name: l.in.Name, Type: l.in.Type, Shape: whole(l.batched, len(rows), []int64{int64(l.Head + l.Tail)})}}, nil
}

// space is what Python's bytes.strip takes off.
const space = " \t\n\r\v\f"

// ends are what is looked at of a file.
func (w *Window) ends(file []byte) (head, tail []byte) {
	if w.Block == 0 {
		return file, file
	}
	n := min(w.Block, len(file))
	return bytes.TrimLeft(file[:n], space), bytes.TrimRight(file[len(file)-n:], space)
}

// Fill implements Loader.
func (l *windowLoader) Fill(_ context.Context, slot int, r Row, t []gpu.Tensor) error {
	head, tail := l.ends(bytesOf(storage(r.Block.Column(l.at)), r.Index))
	head, tail = head[:min(l.Head, len(head))], tail[max(0, len(tail)-l.Tail):]
	dst := slotBytes(&t[0], slot, (l.Head+l.Tail)*t[0].Type.Size())
	return each(l.Head+l.Tail, func(i int) error {
		v := l.Pad
		switch from := i - (l.Head + l.Tail - len(tail)); {
		case i < len(head):
			v = int(head[i])
		case i >= l.Head && from >= 0:
			v = int(tail[from])
		}
		return gpu.PutInt(dst, t[0].Type, i, int64(v))
	})
}

// Close implements Loader.
func (*windowLoader) Close() {}
