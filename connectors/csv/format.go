package csv

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// WriteOptions are how CSV is written.
type WriteOptions struct {
	Delim       string `json:"delim,omitempty" doc:"what separates fields: one character, or tab (a comma; of tsv a tab)"`
	Header      *bool  `json:"header,omitempty" doc:"whether the first line names the columns (true)"`
	Null        string `json:"null,omitempty" doc:"how null is spelled (an empty field)"`
	Compression string `json:"compression,omitempty" doc:"gzip, zstd or none; by default what the path ends in"`
	name        string
}

// Format writes CSV as RFC 4180 has it, with LF at the ends of lines. Fields are quoted where they must be: text that holds a delimiter, a
// quote or a line end, that starts with a space, is empty or is spelled like null. Binary is base64, times are RFC 3339, floats always
// have a point or an exponent.
//
// The header of a compressed file is a gzip member or zstd frame of its own, which joining leaves out of all files but the first.
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
	switch opt.Compression {
	case "none":
		opt.Compression = ""
	case "", "gzip", "zstd":
	default:
		return nil, dataset.Usagef("compression=%s: must be gzip, zstd or none", opt.Compression)
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
func (f *Format) Extension() string {
	ext := f.Name()
	switch f.opt.Compression {
	case "gzip":
		ext += ".gz"
	case "zstd":
		ext += ".zst"
	}
	return ext
}

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	seen := map[string]bool{}
	for _, field := range in.Fields() {
		if seen[field.Name] {
			return fmt.Errorf("write csv: two columns are named %q; rename one", field.Name)
		}
		seen[field.Name] = true
		if err := writable(field.Type); err != nil {
			return fmt.Errorf("write csv: column %q: %w", field.Name, err)
		}
	}
	return nil
}

// NewEncoder implements dataset.Format. Rows are written at once, by the caller's goroutine.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, _ memory.Allocator, _ int) (dataset.Encoder, error) {
	if err := f.Check(in); err != nil {
		return nil, err
	}
	e := &encoder{out: &file.CountWriter{W: w}, text: textWriter{delim: f.delim, null: f.opt.Null}}
	e.text.alone = in.NumFields() == 1
	e.w = e.out
	var err error
	switch f.opt.Compression {
	case "gzip":
		e.pack = gzip.NewWriter(e.out)
	case "zstd":
		e.pack, err = zstd.NewWriter(e.out, zstd.WithEncoderConcurrency(1))
	}
	if err != nil {
		return nil, fmt.Errorf("write csv: %w", err)
	}
	if e.pack != nil {
		e.w = e.pack
	}
	if *f.opt.Header && in.NumFields() > 0 {
		err = e.header(in)
	}
	return e, err
}

// Join implements dataset.Format: records follow records, and the header comes once.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	return file.JoinBytes(ctx, "csv", w, parts, func(i int, p dataset.JoinPart) (int64, error) {
		if i == 0 || !*f.opt.Header {
			return 0, nil
		}
		n, err := f.headerSize(p)
		if err != nil {
			return 0, fmt.Errorf("join csv: find the header of part %d: %w", i, err)
		}
		return n, nil
	})
}

// headerSize is how many bytes the header of a file takes.
func (f *Format) headerSize(p dataset.JoinPart) (int64, error) {
	in := &countReader{r: io.NewSectionReader(p, 0, p.Size)}
	switch f.opt.Compression {
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return 0, err
		}
		z.Multistream(false)
		_, err = io.Copy(io.Discard, z)
		return in.n, err
	case "zstd":
		return zstdFrame(p)
	}
	d := dialect{delim: f.delim, quote: '"'}
	s := atRecord
	buf := make([]byte, 64<<10)
	for total := int64(0); ; {
		k, err := in.Read(buf)
		n, next, done := d.advance(s, buf[:k])
		total += int64(n)
		if done || err == io.EOF {
			return total, nil
		}
		if err != nil {
			return 0, err
		}
		s = next
	}
}

// zstdFrame is the size of the zstd frame that a file begins with (RFC 8878, section 3.1.1).
func zstdFrame(p dataset.JoinPart) (int64, error) {
	head := make([]byte, min(zstd.HeaderMaxSize, p.Size))
	if _, err := p.ReadAt(head, 0); err != nil && err != io.EOF {
		return 0, err
	}
	var h zstd.Header
	if err := h.Decode(head); err != nil {
		return 0, err
	}
	off := int64(h.HeaderSize)
	block := make([]byte, 3)
	for last := false; !last; {
		if _, err := p.ReadAt(block, off); err != nil {
			return 0, err
		}
		word := int64(block[0]) | int64(block[1])<<8 | int64(block[2])<<16
		last = word&1 == 1
		size := word >> 3
		if word>>1&3 == 1 { // one byte, repeated
			size = 1
		}
		off += 3 + size
	}
	if h.HasCheckSum {
		off += 4
	}
	return off, nil
}

// countReader counts what is read; it reads single bytes, so that a decompressor takes no more than it needs.
type countReader struct {
	r io.Reader
	n int64
	b [1]byte
}

func (c *countReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (c *countReader) ReadByte() (byte, error) {
	_, err := io.ReadFull(c, c.b[:])
	return c.b[0], err
}
