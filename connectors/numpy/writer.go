package numpy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// DefaultMaxFile is how large a .npy file may become.
const DefaultMaxFile = 1 << 30

// WriteOptions are how .npy files are written. The zero value stands for the defaults.
type WriteOptions struct {
	MaxFile dataset.ByteSize `json:"max_file,omitempty" doc:"largest file written; its rows are held in memory, because the number of rows comes first in it (1GiB)"`
}

// Format writes one column as a .npy file: booleans, numbers, dates, timestamps and durations (whose nulls are NaT), and fixed-size lists of
// them, an axis each. NumPy has no null for the others.
type Format struct{ opt WriteOptions }

var _ dataset.Format = (*Format)(nil)

// NewFormat makes the format.
func NewFormat(opt WriteOptions) (*Format, error) {
	if opt.MaxFile < 0 {
		return nil, dataset.Usagef("max_file=%s: must be positive", opt.MaxFile)
	}
	if opt.MaxFile == 0 {
		opt.MaxFile = DefaultMaxFile
	}
	return &Format{opt}, nil
}

// Name implements dataset.Format.
func (f *Format) Name() string { return "numpy" }

// Version implements dataset.Format.
func (f *Format) Version() int { return 1 }

// Params implements dataset.Format.
func (f *Format) Params() any { return f.opt }

// Extension implements dataset.Format.
func (f *Format) Extension() string { return "npy" }

// descrOf is the dtype that values of a type are written as, or "".
func descrOf(dt arrow.DataType) string {
	for descr, t := range numbers {
		if arrow.TypeEqual(t, dt) {
			if descr[1] == '1' {
				return "|" + descr
			}
			return "<" + descr
		}
	}
	unit := func(u arrow.TimeUnit) string { return "[" + u.String() + "]" }
	switch t := dt.(type) {
	case *arrow.Date32Type:
		return "<M8[D]"
	case *arrow.TimestampType:
		return "<M8" + unit(t.Unit)
	case *arrow.DurationType:
		return "<m8" + unit(t.Unit)
	}
	return ""
}

// shapeOf is the elements and the axes behind the first of a column.
func shapeOf(dt arrow.DataType) (elem arrow.DataType, axes []int64) {
	for {
		if e, ok := dt.(arrow.ExtensionType); ok {
			dt = e.StorageType()
		}
		l, ok := dt.(*arrow.FixedSizeListType)
		if !ok {
			return dt, axes
		}
		axes, dt = append(axes, int64(l.Len())), l.Elem()
	}
}

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	if n := in.NumFields(); n != 1 {
		return fmt.Errorf("write numpy: a .npy file holds one column and there are %d; pick one with select", n)
	}
	c := in.Field(0)
	elem, axes := shapeOf(c.Type)
	if descrOf(elem) == "" {
		return fmt.Errorf("write numpy: column %q is %s; only numbers, booleans, times and fixed-size lists of them can be written: convert it", c.Name, c.Type)
	}
	if len(axes)+1 > maxAxes {
		return fmt.Errorf("write numpy: column %q has %d axes, more than %d", c.Name, len(axes)+1, maxAxes)
	}
	return nil
}

// NewEncoder implements dataset.Format.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, mem memory.Allocator, _ int) (dataset.Encoder, error) {
	if err := f.Check(in); err != nil {
		return nil, err
	}
	elem, axes := shapeOf(in.Field(0).Type)
	return &encoder{w: w, name: in.Field(0).Name, limit: int64(f.opt.MaxFile), held: memory.NewResizableBuffer(mem),
		head: header{descr: descrOf(elem), shape: append([]int64{0}, axes...)}}, nil
}

// encoder holds the data of one file.
type encoder struct {
	w       io.Writer
	name    string
	limit   int64
	head    header
	held    *memory.Buffer
	written int64
}

// Write implements dataset.Encoder.
func (e *encoder) Write(ctx context.Context, b *block.Block) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := e.values(b.Column(0), 0, b.NumRows()); err != nil {
		return fmt.Errorf("write numpy: column %q, in the block that begins at row %d of the file: %w", e.name, e.head.shape[0], err)
	}
	e.head.shape[0] += int64(b.NumRows())
	return nil
}

// values appends values [from, to) of a.
func (e *encoder) values(a arrow.Array, from, to int) error {
	if x, ok := a.(array.ExtensionArray); ok {
		return e.values(x.Storage(), from, to)
	}
	if l, ok := a.(*array.FixedSizeList); ok {
		for i := from; i < to; i++ {
			if l.IsNull(i) {
				return errNull
			}
		}
		if from == to {
			return nil
		}
		lo, _ := l.ValueOffsets(from)
		_, hi := l.ValueOffsets(to - 1)
		return e.values(l.ListValues(), int(lo), int(hi))
	}
	switch a := a.(type) {
	case *array.Timestamp:
		return e.times(a, from, to, func(i int) int64 { return int64(a.Value(i)) })
	case *array.Duration:
		return e.times(a, from, to, func(i int) int64 { return int64(a.Value(i)) })
	case *array.Date32:
		return e.times(a, from, to, func(i int) int64 { return int64(a.Value(i)) })
	}
	if a.NullN() > 0 {
		for i := from; i < to; i++ {
			if a.IsNull(i) {
				return errNull
			}
		}
	}
	if v, ok := a.(*array.Boolean); ok {
		p, err := e.room(to - from)
		for i := range p {
			if v.Value(from + i) {
				p[i] = 1
			}
		}
		return err
	}
	width := a.DataType().(arrow.FixedWidthDataType).BitWidth() / 8
	at := (a.Data().Offset() + from) * width
	p, err := e.room((to - from) * width)
	if len(p) > 0 {
		copy(p, a.Data().Buffers()[1].Bytes()[at:])
	}
	return err
}

var errNull = errors.New("a value is null, which this NumPy type has no place for; fill it or filter such rows out")

func (e *encoder) times(a arrow.Array, from, to int, value func(int) int64) error {
	p, err := e.room((to - from) * 8)
	for i := range len(p) / 8 {
		v := int64(math.MinInt64) // NaT
		if a.IsValid(from + i) {
			v = value(from + i)
		}
		binary.LittleEndian.PutUint64(p[8*i:], uint64(v))
	}
	return err
}

// room grows what is held by n zeroed bytes and returns them.
func (e *encoder) room(n int) ([]byte, error) {
	have := e.held.Len()
	if int64(have)+int64(n) > e.limit {
		return nil, fmt.Errorf("the file would have more than max_file=%s; write to a folder (a path that ends in a slash), or raise max_file", dataset.ByteSize(e.limit))
	}
	if have+n > e.held.Cap() {
		e.held.Reserve(max(have+n, 2*e.held.Cap()))
	}
	e.held.ResizeNoShrink(have + n)
	p := e.held.Bytes()[have:]
	clear(p)
	return p, nil
}

// Buffered implements dataset.Encoder.
func (e *encoder) Buffered() int64 { return int64(e.held.Len()) }

// Written implements dataset.Encoder. It counts the data that is held, so that parts end where their files are large enough.
func (e *encoder) Written() int64 { return e.written + int64(e.held.Len()) }

// Close implements dataset.Encoder.
func (e *encoder) Close(context.Context) error {
	defer e.held.Release()
	for _, p := range [][]byte{e.head.write(), e.held.Bytes()} {
		n, err := e.w.Write(p)
		e.written += int64(n)
		if err != nil {
			return fmt.Errorf("write numpy: %w", err)
		}
	}
	e.held.ResizeNoShrink(0)
	return nil
}

// Join implements dataset.Format: one header for the data of all parts.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	var whole header
	var data []io.Reader
	for i, p := range parts {
		h, err := readHeader(io.NewSectionReader(p, 0, p.Size))
		if err != nil {
			return fmt.Errorf("join numpy: part %d: %w", i, err)
		}
		if len(h.shape) == 0 {
			return fmt.Errorf("join numpy: part %d has no rows", i)
		}
		data = append(data, io.NewSectionReader(p, h.size, p.Size-h.size))
		if i == 0 {
			whole = *h
			continue
		}
		whole.shape[0] += h.shape[0]
	}
	if _, err := w.Write(whole.write()); err != nil {
		return fmt.Errorf("join numpy: %w", err)
	}
	buf := make([]byte, 1<<20)
	for _, r := range data {
		for {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n, err := r.Read(buf)
			if _, werr := w.Write(buf[:n]); werr != nil {
				return fmt.Errorf("join numpy: %w", werr)
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return fmt.Errorf("join numpy: %w", err)
			}
		}
	}
	return nil
}
