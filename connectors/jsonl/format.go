package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// WriteOptions are how JSON lines are written.
type WriteOptions struct {
	Compression string `json:"compression,omitempty" doc:"gzip, zstd, bzip2, xz, lz4 or none; by default what the path ends in"`
}

// Format writes JSON: one object a row with every column, null where it is null. Binary is base64, pixels are {width, height,
// channels}, NaN and infinities are null with a warning, times are RFC 3339 (a time without a zone is written as UTC), decimals are
// strings, floats always have a point or an exponent, so that reading infers them as floats again. The objects stand one a line, by
// themselves or as the elements of one array (array.go).
type Format struct {
	opt   WriteOptions
	array bool
}

var _ dataset.Format = (*Format)(nil)

// NewFormat makes the format of JSON lines.
func NewFormat(opt WriteOptions) (*Format, error) {
	var err error
	if opt.Compression, err = file.ParseCompression(opt.Compression); err != nil {
		return nil, err
	}
	return &Format{opt: opt}, nil
}

// Name implements dataset.Format.
func (f *Format) Name() string {
	if f.array {
		return "json"
	}
	return "jsonl"
}

// Version implements dataset.Format.
func (f *Format) Version() int { return 1 }

// Params implements dataset.Format.
func (f *Format) Params() any { return f.opt }

// Extension implements dataset.Format.
func (f *Format) Extension() string { return file.PackedExtension(f.Name(), f.opt.Compression) }

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	return file.CheckColumns(f.Name(), in, func(f arrow.Field) error { return writable(f.Type) })
}

// NewEncoder implements dataset.Format. Rows are written at once, by the caller's goroutine.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, _ memory.Allocator, _ int) (dataset.Encoder, error) {
	if err := f.Check(in); err != nil {
		return nil, err
	}
	e := &encoder{name: f.Name(), array: f.array, out: &file.CountWriter{W: w}, compression: f.opt.Compression}
	if err := e.begin(); err != nil {
		return nil, fmt.Errorf("write %s: %w", e.name, err)
	}
	for _, field := range in.Fields() {
		e.keys = append(e.keys, append(appendString(nil, field.Name), ':'))
	}
	return e, nil
}

// Join implements dataset.Format: lines follow lines, and so do the members or frames of all compressions.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	if f.array {
		return f.joinArrays(ctx, w, parts)
	}
	return file.JoinBytes(ctx, "jsonl", w, parts, nil)
}

// flushBytes is how much text is gathered before it is written out; keptBytes is the largest buffer kept after a huge row.
const (
	flushBytes = 128 << 10
	keptBytes  = 4 << 20
)

// encoder writes one file.
type encoder struct {
	name        string
	array       bool
	some        bool // a row was written
	out         *file.CountWriter
	compression string
	w           io.WriteCloser // compresses
	keys        [][]byte
	buf         []byte
	notes       notes
}

var (
	_ dataset.Encoder = (*encoder)(nil)
	_ file.Warner     = (*encoder)(nil)
)

// notes counts what could not be written as it was.
type notes struct {
	nonFinite int64 // NaN and infinities, written as null
	badText   int64 // strings that are not UTF-8, written with U+FFFD
}

// Write implements dataset.Encoder.
func (e *encoder) Write(ctx context.Context, b *block.Block) error {
	cols := make([]appender, b.NumCols())
	for i := range cols {
		cols[i] = e.notes.appender(b.Column(i))
	}
	for row := range b.NumRows() {
		buf := append(e.before(), '{')
		for i, col := range cols {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = col(append(buf, e.keys[i]...), row)
		}
		if buf = append(buf, '}'); !e.array {
			buf = append(buf, '\n')
		}
		e.buf = buf
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

func (e *encoder) flush() (err error) {
	if len(e.buf) == 0 {
		return nil
	}
	if e.w == nil {
		e.w, err = file.Compress(e.out, e.compression)
	}
	if err == nil {
		_, err = e.w.Write(e.buf)
	}
	if e.buf = e.buf[:0]; cap(e.buf) > keptBytes {
		e.buf = nil
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", e.name, err)
	}
	return nil
}

// Buffered implements dataset.Encoder.
func (e *encoder) Buffered() int64 { return int64(cap(e.buf)) }

// Written implements dataset.Encoder.
func (e *encoder) Written() int64 { return e.out.N }

// Close implements dataset.Encoder.
func (e *encoder) Close(context.Context) error {
	e.buf = nil
	if err := e.end(); err != nil {
		return fmt.Errorf("write %s: %w", e.name, err)
	}
	return nil
}

// Warnings implements file.Warner.
func (e *encoder) Warnings(warn func(class, example string)) {
	if n := e.notes.nonFinite; n > 0 {
		warn("NaN and infinity written as null", fmt.Sprintf("%d values; JSON has no numbers for them", n))
	}
	if n := e.notes.badText; n > 0 {
		warn("invalid UTF-8 written as U+FFFD", fmt.Sprintf("%d strings", n))
	}
}

// Marshal writes the rows of a block as JSON lines, for printing.
func Marshal(b *block.Block) ([]byte, error) {
	var out bytes.Buffer
	e, err := (&Format{}).NewEncoder(&out, b.Schema(), nil, 1)
	if err != nil {
		return nil, err
	}
	if err := e.Write(context.Background(), b); err != nil {
		return nil, err
	}
	return out.Bytes(), e.Close(context.Background())
}
