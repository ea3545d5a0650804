package csv

import (
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// WriteOptions are how CSV is written.
type WriteOptions struct {
	Delim       string `json:"delim,omitempty" doc:"what separates fields: one character, or tab (a comma; of tsv a tab)"`
	Header      *bool  `json:"header,omitempty" doc:"whether the first line names the columns (true)"`
	Null        string `json:"null,omitempty" doc:"how null is spelled (an empty field)"`
	Compression string `json:"compression,omitempty" doc:"gzip, zstd, bzip2, xz, lz4 or none; by default what the path ends in"`
	name        string
}

// Format writes CSV as RFC 4180 has it, with LF at the ends of lines. Fields are quoted where they must be: text that holds a delimiter, a
// quote or a line end, that starts with a space, is empty or is spelled like null. Binary is base64, times are RFC 3339, floats always
// have a point or an exponent.
//
// The header of a compressed file is a member or frame of its own, which joining leaves out of all files but the first.
type Format struct {
	opt   WriteOptions
	delim byte
}

var _ dataset.Format = (*Format)(nil)

// NewFormat makes the format.
func NewFormat(opt WriteOptions) (*Format, error) {
	if opt.Header == nil {
		opt.Header = new(true)
	}
	d, err := Options{Delim: opt.Delim}.withDefaults().dialect()
	if err != nil {
		return nil, err
	}
	if opt.Compression, err = file.ParseCompression(opt.Compression); err != nil {
		return nil, err
	}
	if strings.ContainsAny(opt.Null, "\"\r\n") || strings.IndexByte(opt.Null, d.delim) >= 0 {
		return nil, dataset.Usagef("null=%q: must hold no quote, delimiter or line end", opt.Null)
	}
	if opt.Null != "" {
		v := newValues(Options{}.withDefaults())
		if k := v.classify([]byte(opt.Null)); k != kindText {
			return nil, dataset.Usagef("null=%q: it is spelled like a value; use a word that no column holds, such as NA", opt.Null)
		}
	}
	return &Format{opt, d.delim}, nil
}

// Name implements dataset.Format.
func (f *Format) Name() string {
	if f.opt.name != "" {
		return f.opt.name
	}
	return "csv"
}

// Version implements dataset.Format.
func (f *Format) Version() int { return 1 }

// Params implements dataset.Format.
func (f *Format) Params() any { return f.opt }

// Extension implements dataset.Format.
func (f *Format) Extension() string { return file.PackedExtension(f.Name(), f.opt.Compression) }

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	return file.CheckColumns("csv", in, func(f arrow.Field) error { return writable(f.Type) })
}

// NewEncoder implements dataset.Format. Rows are written at once, by the caller's goroutine.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, _ memory.Allocator, _ int) (dataset.Encoder, error) {
	if err := f.Check(in); err != nil {
		return nil, err
	}
	e := &encoder{out: &file.CountWriter{W: w}, compression: f.opt.Compression, text: textWriter{delim: f.delim, null: f.opt.Null}}
	e.text.alone = in.NumFields() == 1
	err := e.member()
	if err == nil && *f.opt.Header && in.NumFields() > 0 {
		err = e.header(in)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}
