package csv

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// flushBytes is how much text is gathered before it is written out; keptBytes is the largest buffer kept after a huge row.
const (
	flushBytes = 128 << 10
	keptBytes  = 4 << 20
)

// encoder writes one file.
type encoder struct {
	out         *file.CountWriter
	compression string
	w           io.WriteCloser // compresses
	buf         []byte
	text        textWriter
}

var (
	_ dataset.Encoder = (*encoder)(nil)
	_ file.Warner     = (*encoder)(nil)
)

// header writes the names of the columns, in a member or frame of their own.
func (e *encoder) header(in *arrow.Schema) error {
	for i, f := range in.Fields() {
		if i > 0 {
			e.buf = append(e.buf, e.text.delim)
		}
		e.buf = e.text.field(e.buf, f.Name)
	}
	e.buf = append(e.buf, '\n')
	if err := e.flush(); err != nil || e.compression == "" {
		return err
	}
	if err := e.w.Close(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return e.member()
}

// member begins a member or frame of the compressed file.
func (e *encoder) member() (err error) {
	if e.w, err = file.Compress(e.out, e.compression); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// Write implements dataset.Encoder.
func (e *encoder) Write(ctx context.Context, b *block.Block) error {
	cols := make([]appender, b.NumCols())
	for i := range cols {
		cols[i] = e.text.appender(b.Column(i))
	}
	for row := range b.NumRows() {
		buf := e.buf
		for i, col := range cols {
			if i > 0 {
				buf = append(buf, e.text.delim)
			}
			buf = col(buf, row)
		}
		e.buf = append(buf, '\n')
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

func (e *encoder) flush() error {
	_, err := e.w.Write(e.buf)
	if e.buf = e.buf[:0]; cap(e.buf) > keptBytes {
		e.buf = nil
	}
	if err != nil {
		return fmt.Errorf("write csv: %w", err)
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
	if err := e.w.Close(); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	return nil
}

// Warnings implements file.Warner.
func (e *encoder) Warnings(warn func(class, example string)) {
	if n := e.text.badText; n > 0 {
		warn("invalid UTF-8 written as U+FFFD", fmt.Sprintf("%d strings", n))
	}
	if n := e.text.aloneNulls; n > 0 {
		warn("null written as empty text", fmt.Sprintf("%d rows of a file of one column, whose empty lines no reader counts; pass null=NA to tell them apart", n))
	}
}
