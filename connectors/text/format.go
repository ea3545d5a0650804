package text

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// NewlinePolicy says what happens to text that holds line ends.
type NewlinePolicy string

// The policies for text of several lines.
const (
	NewlineError NewlinePolicy = "error" // writing fails
	NewlineSpace NewlinePolicy = "space" // each line end becomes a space
	NewlineSplit NewlinePolicy = "split" // the text is written as it is, and reads back as several rows
)

// WriteOptions are how lines are written.
type WriteOptions struct {
	Column      string        `json:"column,omitempty" doc:"the column that is written (the only one, or text)"`
	Newline     NewlinePolicy `json:"newline,omitempty" doc:"line ends inside text: error, space (replace them) or split (write them)"`
	Compression string        `json:"compression,omitempty" doc:"gzip, zstd, bzip2, xz, lz4 or none; by default what the path ends in"`
}

// Format writes one column of text, a line a row, with LF at the ends of lines. Null is an empty line.
type Format struct{ opt WriteOptions }

var _ dataset.Format = (*Format)(nil)

// NewFormat makes the format.
func NewFormat(opt WriteOptions) (*Format, error) {
	var err error
	if opt.Compression, err = file.ParseCompression(opt.Compression); err != nil {
		return nil, err
	}
	switch opt.Newline {
	case "":
		opt.Newline = NewlineError
	case NewlineError, NewlineSpace, NewlineSplit:
	default:
		return nil, dataset.Usagef("newline=%s: must be error, space or split", opt.Newline)
	}
	return &Format{opt}, nil
}

// Name implements dataset.Format.
func (f *Format) Name() string { return "text" }

// Version implements dataset.Format.
func (f *Format) Version() int { return 1 }

// Params implements dataset.Format.
func (f *Format) Params() any { return f.opt }

// Extension implements dataset.Format.
func (f *Format) Extension() string { return file.PackedExtension("txt", f.opt.Compression) }

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	_, err := f.column(in)
	return err
}

// column finds the column that is written.
func (f *Format) column(in *arrow.Schema) (int, error) {
	name := f.opt.Column
	if name == "" {
		name = TextColumn
		if in.NumFields() == 1 {
			name = in.Field(0).Name
		}
	}
	at := in.FieldIndices(name)
	switch {
	case len(at) == 0 && f.opt.Column == "":
		return 0, fmt.Errorf("write text: there are %d columns and none is named text; pass column=, or select one", in.NumFields())
	case len(at) == 0:
		return 0, fmt.Errorf("write text: there is no column %q", name)
	case len(at) > 1:
		return 0, fmt.Errorf("write text: two columns are named %q; rename one", name)
	}
	t := in.Field(at[0]).Type
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	if t.ID() != arrow.STRING && t.ID() != arrow.LARGE_STRING {
		return 0, fmt.Errorf("write text: column %q is %s, not text; cast it to string", name, t)
	}
	return at[0], nil
}

// NewEncoder implements dataset.Format. Rows are written at once, by the caller's goroutine.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, _ memory.Allocator, _ int) (dataset.Encoder, error) {
	at, err := f.column(in)
	if err != nil {
		return nil, err
	}
	e := &encoder{out: &file.CountWriter{W: w}, at: at, name: in.Field(at).Name, newline: f.opt.Newline}
	if e.w, err = file.Compress(e.out, f.opt.Compression); err != nil {
		return nil, fmt.Errorf("write text: %w", err)
	}
	return e, nil
}

// Join implements dataset.Format: lines follow lines, and so do the members or frames of all compressions.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	return file.JoinBytes(ctx, "text", w, parts, nil)
}

// flushBytes is how much text is gathered before it is written out; keptBytes is the largest buffer kept after a huge row.
const (
	flushBytes = 128 << 10
	keptBytes  = 4 << 20
)

// encoder writes one file.
type encoder struct {
	out     *file.CountWriter
	w       io.WriteCloser // compresses
	at      int
	name    string
	newline NewlinePolicy
	buf     []byte
	rows    int64
	nulls   int64
	badText int64
	joined  int64 // texts whose line ends became spaces
}

var (
	_ dataset.Encoder = (*encoder)(nil)
	_ file.Warner     = (*encoder)(nil)
)

// Write implements dataset.Encoder.
func (e *encoder) Write(ctx context.Context, b *block.Block) error {
	value, err := values(b.Column(e.at))
	if err != nil {
		return err
	}
	null := b.Column(e.at).IsNull
	for row := range b.NumRows() {
		if null(row) {
			e.nulls++
		} else if err := e.line(value(row)); err != nil {
			return err
		}
		e.buf = append(e.buf, '\n')
		e.rows++
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

// values gives the texts of an array.
func values(a arrow.Array) (func(row int) string, error) {
	switch a := a.(type) {
	case array.StringLike:
		return a.Value, nil
	case *array.Dictionary:
		inner, err := values(a.Dictionary())
		return func(row int) string { return inner(a.GetValueIndex(row)) }, err
	}
	return nil, fmt.Errorf("write text: a column of %s is not text", a.DataType())
}

// line appends one text.
func (e *encoder) line(s string) error {
	if !utf8.ValidString(s) {
		e.badText++
		s = string(charset.AppendValid(nil, []byte(s)))
	}
	if e.newline != NewlineSplit && strings.ContainsAny(s, "\r\n") {
		if e.newline == NewlineError {
			return fmt.Errorf("write text: row %d of the file, column %q: the text holds a line end and would be several lines; "+
				"pass newline=space or newline=split, or write csv or jsonl", e.rows, e.name)
		}
		e.joined++
		s = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(s)
	}
	e.buf = append(e.buf, s...)
	return nil
}

func (e *encoder) flush() error {
	_, err := e.w.Write(e.buf)
	if e.buf = e.buf[:0]; cap(e.buf) > keptBytes {
		e.buf = nil
	}
	if err != nil {
		return fmt.Errorf("write text: %w", err)
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
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

// Warnings implements file.Warner.
func (e *encoder) Warnings(warn func(class, example string)) {
	for _, x := range []struct {
		n           int64
		class, what string
	}{{e.nulls, "null written as an empty line", "rows"}, {e.badText, "invalid UTF-8 written as U+FFFD", "strings"},
		{e.joined, "line ends written as spaces", "strings"}} {
		if x.n > 0 {
			warn(x.class, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
}
