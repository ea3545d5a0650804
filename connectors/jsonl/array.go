package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// What stands around and between the elements of an array. In a compressed file the head and the tail are members or frames of their own, so
// that arrays are joined without decompressing what is between them; an array without elements is a head and a tail.
const (
	arrayHead      = "["
	arrayFirst     = "\n"
	arraySeparator = ",\n"
	arrayTail      = "\n]\n"
)

// NewArrayFormat makes the format of one JSON array of objects, one a line.
func NewArrayFormat(opt WriteOptions) (*Format, error) {
	f, err := NewFormat(opt)
	if err != nil {
		return nil, err
	}
	f.array = true
	return f, nil
}

// begin writes what stands before the first row. Some compressors write when they are made: that of an array's elements is made for the first.
func (e *encoder) begin() (err error) {
	if e.array {
		return e.member(arrayHead)
	}
	e.w, err = file.Compress(e.out, e.compression)
	return err
}

// before is the text that is gathered, with what stands before the next row.
func (e *encoder) before() []byte {
	switch {
	case !e.array:
		return e.buf
	case e.some:
		return append(e.buf, arraySeparator...)
	}
	e.some = true
	return append(e.buf, arrayFirst...)
}

// end writes what stands behind the last row.
func (e *encoder) end() error {
	if !e.array {
		return e.w.Close()
	}
	if e.w != nil {
		if err := e.w.Close(); err != nil {
			return err
		}
	}
	return e.member(arrayTail)
}

// member writes a text as a member or frame of its own.
func (e *encoder) member(text string) error {
	raw, err := file.Packed([]byte(text), e.compression)
	if err == nil {
		_, err = e.out.Write(raw)
	}
	return err
}

// joinArrays writes one array of the elements of several.
func (f *Format) joinArrays(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	var around [3][]byte
	for i, text := range []string{arrayHead, arrayTail, ","} {
		var err error
		if around[i], err = file.Packed([]byte(text), f.opt.Compression); err != nil {
			return fmt.Errorf("join json: %w", err)
		}
	}
	head, tail, comma := around[0], around[1], around[2]
	var full []dataset.JoinPart // the elements of parts that have any
	for i, p := range parts {
		n := p.Size - int64(len(head)+len(tail))
		if err := f.arrayAround(p, head, tail); err != nil {
			return fmt.Errorf("join json: part %d: %w", i, err)
		}
		if n > 0 {
			full = append(full, dataset.JoinPart{ReaderAt: io.NewSectionReader(p, int64(len(head)), n), Size: n})
		}
	}
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("join json: %w", err)
	}
	for i := range full {
		if i > 0 {
			if _, err := w.Write(comma); err != nil {
				return fmt.Errorf("join json: %w", err)
			}
		}
		if err := file.JoinBytes(ctx, "json", w, full[i:i+1], nil); err != nil {
			return err
		}
	}
	if _, err := w.Write(tail); err != nil {
		return fmt.Errorf("join json: %w", err)
	}
	return nil
}

// arrayAround makes sure that a file begins and ends as this program writes arrays.
func (f *Format) arrayAround(p dataset.JoinPart, head, tail []byte) error {
	for _, x := range []struct {
		want []byte
		at   int64
	}{{head, 0}, {tail, p.Size - int64(len(tail))}} {
		got := make([]byte, len(x.want))
		if x.at < 0 {
			return fmt.Errorf("it has %d bytes, too few for an array", p.Size)
		}
		if _, err := p.ReadAt(got, x.at); err != nil && err != io.EOF {
			return err
		}
		if !bytes.Equal(got, x.want) {
			return fmt.Errorf("the array does not begin and end as this program writes it (was another version of it at work?); run the job again with --overwrite")
		}
	}
	return nil
}
