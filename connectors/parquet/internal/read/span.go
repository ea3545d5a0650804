package read

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// Span is rows to pass over, then rows to read.
type Span struct{ Skip, Take int64 }

// Push adds rows to read, behind those of before. Passing over whole pages does not decompress them.
func (rg *RowGroup) Push(s Span) {
	for _, c := range rg.columns {
		c.queue = append(c.queue, s)
	}
	rg.rows += s.Take
}

// fillSpans reads up to n rows of the queue into the leaves of the column; fewer when the column is full.
func (c *column) fillSpans(rg *RowGroup, n int) error {
	if c.Kind != schema.Leaf {
		q := &c.queue[0]
		for _, l := range c.leaves {
			l.skip += int(q.Skip)
		}
		q.Skip = 0
		return c.fill(rg, int(min(int64(n), q.Take)))
	}
	l := c.leaves[0]
	l.out.expect(n)
	for got := 0; got < n && len(c.queue) > 0; {
		q := &c.queue[0]
		l.skip += int(q.Skip)
		q.Skip = 0
		want := int(min(int64(n-got), q.Take))
		k, err := l.readFlat(want)
		if err != nil {
			return err
		}
		got += k
		if q.Take -= int64(k); q.Take == 0 {
			c.queue = c.queue[1:]
		}
		if k < want {
			return nil
		}
	}
	return nil
}

// took notes that n rows of the queue were read, of a nested column.
func (c *column) took(n int) {
	if c.Kind == schema.Leaf {
		return
	}
	if q := &c.queue[0]; q.Take > int64(n) {
		q.Take -= int64(n)
	} else {
		c.queue = c.queue[1:]
	}
}

// pass moves past k rows of the page without keeping them.
func (l *leaf) pass(k int) error {
	values := k
	if l.col.MaxDef > 0 && !l.def.AllOnes(k) {
		bits := l.aside.grow((k+7)/8, 0)
		clear(bits)
		ones, err := l.def.Bitmap(bits, 0, k)
		if err != nil {
			return fmt.Errorf("definition levels: %w", err)
		}
		values = ones
	}
	if values == 0 {
		return nil
	}
	v := &l.vals
	switch v.mode {
	case modePlain:
		if l.width == 0 {
			return l.passBytes(values)
		}
		if values*l.width > len(v.data) {
			return fmt.Errorf("page has %d bytes left for %d values of %d: %w", len(v.data), values, l.width, io.ErrUnexpectedEOF)
		}
		v.data = v.data[values*l.width:]
		return nil
	case modeBits:
		if v.bit+values > len(v.data)*8 {
			return fmt.Errorf("page has %d booleans left, want %d: %w", len(v.data)*8-v.bit, values, io.ErrUnexpectedEOF)
		}
		v.bit += values
		return nil
	case modeRuns:
		_, err := v.runs.Bitmap(l.aside.grow((values+7)/8, 0), 0, values)
		return err
	case modeIndex:
		for ; values > 0; values -= min(values, indexChunk) {
			if err := v.runs.Uint32(l.index[:min(values, indexChunk)]); err != nil {
				return fmt.Errorf("dictionary indexes: %w", err)
			}
		}
		return nil
	case modeLengths:
		return l.passLengths(values)
	case modePrefixes:
		for range values {
			if _, err := l.nextPrefixed(); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("page has no values left")
}

func (l *leaf) passBytes(n int) error {
	b := l.vals.data
	for i := range n {
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return fmt.Errorf("value %d of %d: %w", i, n, io.ErrUnexpectedEOF)
		}
		b = b[4+binary.LittleEndian.Uint32(b):]
	}
	l.vals.data = b
	return nil
}

func (l *leaf) passLengths(n int) error {
	total, err := l.lengths(n)
	if err != nil {
		return err
	}
	l.vals.data, l.vals.sizes = l.vals.data[total:], l.vals.sizes[n:]
	return nil
}
