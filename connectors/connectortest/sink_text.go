package connectortest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// TextFormat is the smallest format that shows whether a file is whole: a line a row, values separated by tabs, and a last line with
// the number of rows. Tests of sinks use it where the format does not matter.
type TextFormat struct{}

var _ dataset.Format = TextFormat{}

const textEnd = "#end "

// Name implements dataset.Format.
func (TextFormat) Name() string { return "text" }

// Extension implements dataset.Format.
func (TextFormat) Extension() string { return "txt" }

// Version implements dataset.Format.
func (TextFormat) Version() int { return 1 }

// Params implements dataset.Format.
func (TextFormat) Params() any { return nil }

// Check implements dataset.Format.
func (TextFormat) Check(*arrow.Schema) error { return nil }

// NewEncoder implements dataset.Format.
func (TextFormat) NewEncoder(w io.Writer, _ *arrow.Schema, mem memory.Allocator, _ int) (dataset.Encoder, error) {
	return &textEncoder{w: w, mem: mem, held: mem.Allocate(64)}, nil
}

type textEncoder struct {
	w       io.Writer
	mem     memory.Allocator
	held    []byte // something that must be freed, so that tests see an encoder that was not closed
	rows    int64
	written int64
}

// Write implements dataset.Encoder.
func (e *textEncoder) Write(_ context.Context, b *block.Block) error {
	var line []byte
	for i := range b.NumRows() {
		line = line[:0]
		for c := range b.NumCols() {
			if c > 0 {
				line = append(line, '\t')
			}
			line = append(line, storage(b.Column(c)).ValueStr(i)...)
		}
		if err := e.put(append(line, '\n')); err != nil {
			return err
		}
		e.rows++
	}
	return nil
}

func (e *textEncoder) put(p []byte) error {
	n, err := e.w.Write(p)
	e.written += int64(n)
	return err
}

// Buffered implements dataset.Encoder.
func (e *textEncoder) Buffered() int64 { return 0 }

// Written implements dataset.Encoder.
func (e *textEncoder) Written() int64 { return e.written }

// Close implements dataset.Encoder.
func (e *textEncoder) Close(context.Context) error {
	e.mem.Free(e.held)
	return e.put(strconv.AppendInt([]byte(textEnd), e.rows, 10))
}

// Join implements dataset.Format.
func (TextFormat) Join(_ context.Context, w io.Writer, parts []dataset.JoinPart) error {
	total := 0
	for i, p := range parts {
		raw, err := io.ReadAll(io.NewSectionReader(p, 0, p.Size))
		if err != nil {
			return err
		}
		rows, err := TextRows(raw)
		if err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		for _, r := range rows {
			if _, err := io.WriteString(w, r+"\n"); err != nil {
				return err
			}
		}
		total += len(rows)
	}
	_, err := fmt.Fprintf(w, "%s%d", textEnd, total)
	return err
}

// TextRows returns the lines of a file of TextFormat, or says why it is not whole.
func TextRows(raw []byte) ([]string, error) {
	var rows []string
	sc := bufio.NewScanner(bytes.NewReader(raw))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if n, ok := bytes.CutPrefix(sc.Bytes(), []byte(textEnd)); ok {
			if string(n) != strconv.Itoa(len(rows)) || sc.Scan() {
				return nil, fmt.Errorf("the file has %d rows, its end says %s", len(rows), n)
			}
			return rows, sc.Err()
		}
		rows = append(rows, sc.Text())
	}
	return nil, errors.Join(errors.New("the file has no end"), sc.Err())
}
