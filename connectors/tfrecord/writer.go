package tfrecord

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// WriteOptions are how TFRecord files are written. The zero value stands for the defaults.
type WriteOptions struct {
	Features    bool   `json:"features,omitempty" doc:"write tf.train.Example messages, a feature for each column; the default unless there is a column record alone"`
	Compression string `json:"compression,omitempty" doc:"gzip, zstd, bzip2, xz, lz4 or none; by default what the path ends in"`
}

// Format writes TFRecord files: the binary column record as it is, or rows as tf.train.Example messages. Integers and booleans become
// int64 lists, floats float lists (float64 is rounded to float32, all that the format has), binary and text bytes lists; a null is a
// feature that is missing.
type Format struct{ opt WriteOptions }

var _ dataset.Format = (*Format)(nil)

// NewFormat makes the format.
func NewFormat(opt WriteOptions) (*Format, error) {
	var err error
	if opt.Compression, err = file.ParseCompression(opt.Compression); err != nil {
		return nil, err
	}
	return &Format{opt}, nil
}

// Name implements dataset.Format.
func (f *Format) Name() string { return "tfrecord" }

// Version implements dataset.Format.
func (f *Format) Version() int { return 1 }

// Params implements dataset.Format.
func (f *Format) Params() any { return f.opt }

// Extension implements dataset.Format.
func (f *Format) Extension() string { return file.PackedExtension("tfrecord", f.opt.Compression) }

// features tells whether rows are written as examples.
func (f *Format) features(in *arrow.Schema) bool {
	return f.opt.Features || in.NumFields() != 1 || in.Field(0).Name != RecordColumn || !arrow.IsBinaryLike(storage(in.Field(0).Type).ID())
}

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	return file.CheckColumns("tfrecord", in, func(c arrow.Field) error {
		t := storage(c.Type)
		if l, ok := t.(arrow.ListLikeType); ok && t.ID() != arrow.MAP {
			t = storage(l.Elem())
		}
		if kindOf(t) == kindNone {
			return fmt.Errorf("features are integers, floats, bytes and lists of them, and it is %s: convert it or leave it out", c.Type)
		}
		return nil
	})
}

func storage(dt arrow.DataType) arrow.DataType {
	if e, ok := dt.(arrow.ExtensionType); ok {
		return e.StorageType()
	}
	return dt
}

// kindOf is the list that values of a type are written to.
func kindOf(dt arrow.DataType) kind {
	switch id := dt.ID(); {
	case id == arrow.BOOL, arrow.IsInteger(id):
		return kindInts
	case id == arrow.FLOAT32, id == arrow.FLOAT64:
		return kindFloats
	case arrow.IsBaseBinary(id):
		return kindBytes
	}
	return kindNone
}

// NewEncoder implements dataset.Format. Rows are written at once.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, _ memory.Allocator, _ int) (dataset.Encoder, error) {
	if err := f.Check(in); err != nil {
		return nil, err
	}
	e := &encoder{out: &file.CountWriter{W: w}, features: f.features(in)}
	var err error
	if e.w, err = file.Compress(e.out, f.opt.Compression); err != nil {
		return nil, fmt.Errorf("write tfrecord: %w", err)
	}
	for _, c := range in.Fields() {
		e.names = append(e.names, c.Name)
	}
	e.order = make([]int, len(e.names))
	for i := range e.order {
		e.order[i] = i
	}
	slices.SortFunc(e.order, func(a, b int) int { return cmpString(e.names[a], e.names[b]) })
	return e, nil
}

func cmpString(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// flushBytes is how much is gathered before it is written out.
const flushBytes = 128 << 10

// encoder writes one file.
type encoder struct {
	out      *file.CountWriter
	w        io.WriteCloser // compresses
	names    []string
	order    []int // columns by name, the order of deterministic maps
	features bool
	rows     int64
	buf      []byte
	map1     []byte // scratch: the features, an entry, a list
	entry    []byte
	list     []byte
}

// Write implements dataset.Encoder.
func (e *encoder) Write(ctx context.Context, b *block.Block) error {
	cols := make([]arrow.Array, b.NumCols())
	for i := range cols {
		cols[i] = plain(b.Column(i))
	}
	for row := range b.NumRows() {
		rec, err := e.record(cols, row)
		if err != nil {
			return fmt.Errorf("write tfrecord: row %d of the file: %w", e.rows, err)
		}
		e.rows++
		e.buf = appendFrame(e.buf, rec)
		if len(e.buf) >= flushBytes {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return e.flush()
}

func plain(a arrow.Array) arrow.Array {
	if x, ok := a.(array.ExtensionArray); ok {
		return x.Storage()
	}
	return a
}

func (e *encoder) flush() error {
	_, err := e.w.Write(e.buf)
	if e.buf = e.buf[:0]; cap(e.buf) > 8<<20 {
		e.buf = nil // after a huge record
	}
	if err != nil {
		return fmt.Errorf("write tfrecord: %w", err)
	}
	return nil
}

// record makes the bytes of one row.
func (e *encoder) record(cols []arrow.Array, row int) ([]byte, error) {
	if !e.features {
		if cols[0].IsNull(row) {
			return nil, fmt.Errorf("column %q is null, and a record cannot be; filter such rows out", RecordColumn)
		}
		return bytesAt(cols[0], row), nil
	}
	e.map1 = e.map1[:0]
	for _, i := range e.order {
		c := cols[i]
		if c.IsNull(row) {
			continue
		}
		from, to := int64(row), int64(row+1)
		if l, ok := c.(array.ListLike); ok {
			from, to = l.ValueOffsets(row)
			c = plain(l.ListValues())
		}
		for k := from; k < to; k++ {
			if c.IsNull(int(k)) {
				return nil, fmt.Errorf("column %q: element %d of the list is null, which a feature cannot hold; fill it", e.names[i], k-from)
			}
		}
		e.appendFeature(e.names[i], c, int(from), int(to))
	}
	e.entry = protowire.AppendBytes(protowire.AppendTag(e.entry[:0], exampleFeatures, protowire.BytesType), e.map1)
	return e.entry, nil
}

// appendFeature adds the entry of one feature to the map.
func (e *encoder) appendFeature(name string, c arrow.Array, from, to int) {
	k := kindOf(c.DataType())
	list := e.list[:0]
	switch k {
	case kindBytes:
		for i := from; i < to; i++ {
			list = protowire.AppendBytes(protowire.AppendTag(list, listValue, protowire.BytesType), bytesAt(c, i))
		}
	case kindFloats:
		list = protowire.AppendVarint(protowire.AppendTag(list, listValue, protowire.BytesType), uint64(4*(to-from)))
		for i := from; i < to; i++ {
			list = protowire.AppendFixed32(list, math.Float32bits(floatAt(c, i)))
		}
	case kindInts:
		size := 0
		for i := from; i < to; i++ {
			size += protowire.SizeVarint(uint64(intAt(c, i)))
		}
		list = protowire.AppendVarint(protowire.AppendTag(list, listValue, protowire.BytesType), uint64(size))
		for i := from; i < to; i++ {
			list = protowire.AppendVarint(list, uint64(intAt(c, i)))
		}
	}
	e.list = list
	value := protowire.AppendBytes(protowire.AppendTag(nil, protowire.Number(k), protowire.BytesType), list)
	e.entry = protowire.AppendString(protowire.AppendTag(e.entry[:0], entryKey, protowire.BytesType), name)
	e.entry = protowire.AppendBytes(protowire.AppendTag(e.entry, entryValue, protowire.BytesType), value)
	e.map1 = protowire.AppendBytes(protowire.AppendTag(e.map1, featuresEntry, protowire.BytesType), e.entry)
}

func bytesAt(a arrow.Array, i int) []byte {
	switch a := a.(type) {
	case *array.Binary:
		return a.Value(i)
	case *array.LargeBinary:
		return a.Value(i)
	case *array.LargeString:
		return []byte(a.Value(i))
	case *array.String:
		return []byte(a.Value(i))
	}
	return nil
}

func floatAt(a arrow.Array, i int) float32 {
	if d, ok := a.(*array.Float64); ok {
		return float32(d.Value(i))
	}
	return a.(*array.Float32).Value(i)
}

// intAt reads an integer; unsigned ones past int64 wrap, as in the message's own type.
func intAt(a arrow.Array, i int) int64 {
	switch a := a.(type) {
	case *array.Boolean:
		if a.Value(i) {
			return 1
		}
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint8:
		return int64(a.Value(i))
	case *array.Uint16:
		return int64(a.Value(i))
	case *array.Uint32:
		return int64(a.Value(i))
	case *array.Uint64:
		return int64(a.Value(i))
	}
	return 0
}

// Buffered implements dataset.Encoder.
func (e *encoder) Buffered() int64 { return int64(cap(e.buf)) }

// Written implements dataset.Encoder.
func (e *encoder) Written() int64 { return e.out.N }

// Close implements dataset.Encoder.
func (e *encoder) Close(context.Context) error {
	if err := e.w.Close(); err != nil {
		return fmt.Errorf("write tfrecord: %w", err)
	}
	return nil
}

// Join implements dataset.Format: records follow records, and so do the members of both compressions.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	return file.JoinBytes(ctx, "tfrecord", w, parts, nil)
}
