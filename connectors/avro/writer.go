package avro

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Where a block ends.
const (
	blockRows = 16 << 10
	blockSize = 256 << 10
)

// WriteOptions are how container files are written. The zero value stands for the defaults.
type WriteOptions struct {
	Compression string `json:"compression,omitempty" doc:"of the blocks: snappy, deflate, zstandard or none (snappy)"`
}

// Format writes container files: a record a row, columns that can be null as unions with null. Columns of dictionaries are written as their
// values.
type Format struct{ codec string }

var _ dataset.Format = (*Format)(nil)

// NewFormat makes the format.
func NewFormat(opt WriteOptions) (*Format, error) {
	switch opt.Compression {
	case "":
		return &Format{"snappy"}, nil
	case "none", "null":
		return &Format{"null"}, nil
	case "zstd":
		return &Format{"zstandard"}, nil
	case "snappy", "deflate", "zstandard":
		return &Format{opt.Compression}, nil
	}
	return nil, dataset.Usagef("compression=%s: must be snappy, deflate, zstandard or none", opt.Compression)
}

// Name implements dataset.Format.
func (f *Format) Name() string { return "avro" }

// Version implements dataset.Format.
func (f *Format) Version() int { return 1 }

// Params implements dataset.Format.
func (f *Format) Params() any { return WriteOptions{f.codec} }

// Extension implements dataset.Format.
func (f *Format) Extension() string { return "avro" }

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	_, err := schemaText(in)
	return err
}

// NewEncoder implements dataset.Format.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, _ memory.Allocator, _ int) (dataset.Encoder, error) {
	text, err := schemaText(in)
	if err != nil {
		return nil, err
	}
	e := &encoder{w: w, codec: f.codec, fields: in.Fields()}
	// The marker follows from the schema, so that the same rows give the same file, and parts can be joined.
	e.sync = xxh3.HashString128(text).Bytes()
	head := append([]byte(magic), 4)
	for _, s := range []string{"avro.schema", text, "avro.codec", f.codec} {
		head = append(binary.AppendVarint(head, int64(len(s))), s...)
	}
	e.head = append(append(head, 0), e.sync[:]...)
	if f.codec == "zstandard" {
		if e.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, fmt.Errorf("write avro: %w", err)
		}
	}
	return e, nil
}

// encoder writes one file.
type encoder struct {
	w       io.Writer
	codec   string
	fields  []arrow.Field
	head    []byte // not yet written
	sync    [syncBytes]byte
	buf     []byte // the rows of the block so far
	rows    int64
	total   int64
	packed  []byte
	zstd    *zstd.Encoder
	written int64
}

// Write implements dataset.Encoder.
func (e *encoder) Write(ctx context.Context, b *block.Block) error {
	cols := make([]appender, b.NumCols())
	for i := range cols {
		cols[i] = writes(b.Column(i), e.fields[i].Nullable)
	}
	for row := range b.NumRows() {
		for i, col := range cols {
			var err error
			if e.buf, err = col(e.buf, row); err != nil {
				return fmt.Errorf("write avro: row %d of the file, column %q: %w", e.total, e.fields[i].Name, err)
			}
		}
		e.total++
		if e.rows++; e.rows == blockRows || len(e.buf) >= blockSize {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the block.
func (e *encoder) flush() error {
	if err := e.put(e.head); err != nil {
		return err
	}
	e.head = nil
	if e.rows == 0 {
		return nil
	}
	data, err := e.pack()
	if err != nil {
		return fmt.Errorf("write avro: %w", err)
	}
	head := binary.AppendVarint(binary.AppendVarint(nil, e.rows), int64(len(data)))
	for _, p := range [][]byte{head, data, e.sync[:]} {
		if err := e.put(p); err != nil {
			return err
		}
	}
	e.buf, e.rows = e.buf[:0], 0
	return nil
}

func (e *encoder) put(p []byte) error {
	n, err := e.w.Write(p)
	e.written += int64(n)
	if err != nil {
		return fmt.Errorf("write avro: %w", err)
	}
	return nil
}

func (e *encoder) pack() ([]byte, error) {
	switch e.codec {
	case "snappy":
		e.packed = snappy.Encode(e.packed[:cap(e.packed)], e.buf)
		return binary.BigEndian.AppendUint32(e.packed, crc32.ChecksumIEEE(e.buf)), nil
	case "zstandard":
		e.packed = e.zstd.EncodeAll(e.buf, e.packed[:0])
		return e.packed, nil
	case "deflate":
		var b bytes.Buffer
		z, err := flate.NewWriter(&b, flate.DefaultCompression)
		if err != nil {
			return nil, err
		}
		_, err = z.Write(e.buf)
		err = errors.Join(err, z.Close()) // which writes the rest
		return b.Bytes(), err
	}
	return e.buf, nil
}

// Buffered implements dataset.Encoder.
func (e *encoder) Buffered() int64 { return int64(len(e.buf)) }

// Written implements dataset.Encoder.
func (e *encoder) Written() int64 { return e.written }

// Close implements dataset.Encoder.
func (e *encoder) Close(context.Context) error {
	err := e.flush()
	if e.zstd != nil {
		err = errors.Join(err, e.zstd.Close())
	}
	return err
}

// Join implements dataset.Format: the blocks of all parts follow one header.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	var first *header
	buf := make([]byte, 1<<20)
	for i, p := range parts {
		h, err := readHeader(&counter{r: bufio.NewReader(io.NewSectionReader(p, 0, p.Size))})
		if err != nil {
			return fmt.Errorf("join avro: part %d: %w", i, err)
		}
		off := h.size
		if first == nil {
			first, off = h, 0
		}
		if h.schema != first.schema || h.codec != first.codec || h.sync != first.sync {
			return fmt.Errorf("join avro: part %d has another schema or codec", i)
		}
		for off < p.Size {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n, err := p.ReadAt(buf[:min(int64(len(buf)), p.Size-off)], off)
			if n == 0 && err != nil {
				return fmt.Errorf("join avro: %w", err)
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return fmt.Errorf("join avro: %w", err)
			}
			off += int64(n)
		}
	}
	return nil
}
