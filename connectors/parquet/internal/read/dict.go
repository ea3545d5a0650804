package read

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// shortValue is the longest dictionary value that is copied as one word of 16
// bytes instead of through memmove.
const shortValue = 16

// dictionary is the decoded dictionary page of a chunk.
type dictionary struct {
	n       int
	data    scratch // fixed-width values, or bytes of all values
	size    int
	offsets []int32 // byte arrays only: n+1
	short   bool
	loaded  bool
}

func (l *leaf) loadDictionary(h *meta.PageHeader, body []byte) error {
	d := &l.dict
	if d.loaded {
		return errors.New("column chunk has two dictionary pages")
	}
	if h.Encoding != format.Plain && h.Encoding != format.PlainDictionary {
		return fmt.Errorf("dictionary page has encoding %s, want PLAIN", h.Encoding)
	}
	b, err := l.inflate(l.codec, body, int(h.UncompressedSize))
	if err != nil {
		return fmt.Errorf("dictionary page: %w", err)
	}
	n := int(h.NumValues)
	if l.width > 0 {
		if n > len(b)/l.width {
			return fmt.Errorf("dictionary page claims %d values of %d bytes in %d: %w", n, l.width, len(b), io.ErrUnexpectedEOF)
		}
		d.size = n * l.width
		copy(d.data.grow(d.size, 0), b)
		d.n, d.loaded = n, true
		return nil
	}
	if l.col.Physical == format.Boolean {
		return errors.New("dictionary page of a boolean column")
	}
	if n > len(b)/4 {
		return fmt.Errorf("dictionary page claims %d values in %d bytes: %w", n, len(b), io.ErrUnexpectedEOF)
	}
	return d.loadBytes(b, n)
}

func (d *dictionary) loadBytes(b []byte, n int) error {
	dst := d.data.grow(len(b), 0)
	d.offsets = append(d.offsets[:0], 0)
	d.short = true
	at := 0
	for i := range n {
		if len(b) < 4 {
			return fmt.Errorf("dictionary value %d: %w", i, io.ErrUnexpectedEOF)
		}
		k := binary.LittleEndian.Uint32(b)
		if int64(k) > int64(len(b)-4) {
			return fmt.Errorf("dictionary value %d claims %d bytes of %d: %w", i, k, len(b)-4, io.ErrUnexpectedEOF)
		}
		copy(dst[at:], b[4:4+k])
		at += int(k)
		b = b[4+k:]
		d.offsets = append(d.offsets, int32(at))
		d.short = d.short && k <= shortValue
	}
	d.n, d.size, d.loaded = n, at, true
	return nil
}

func (d *dictionary) errIndex(i uint32) error {
	return fmt.Errorf("index %d is outside the dictionary of %d values", i, d.n)
}
