package read

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"
)

// deltaHeader is the start of a DELTA_BINARY_PACKED stream.
type deltaHeader struct {
	perMini, minis int
	total          int
	first          int64
}

func readDeltaHeader(b []byte, limit int) (h deltaHeader, rest []byte, err error) {
	var v [3]uint64
	for i := range v {
		u, n := binary.Uvarint(b)
		if n <= 0 {
			return h, nil, fmt.Errorf("delta header: %w", io.ErrUnexpectedEOF)
		}
		v[i], b = u, b[n:]
	}
	first, n := binary.Varint(b)
	if n <= 0 {
		return h, nil, fmt.Errorf("delta header: %w", io.ErrUnexpectedEOF)
	}
	block, minis, total := v[0], v[1], v[2]
	if block == 0 || block > 1<<20 || minis == 0 || minis > block || block%minis != 0 || (block/minis)%8 != 0 {
		return h, nil, fmt.Errorf("delta header has blocks of %d values in %d parts", block, minis)
	}
	if total > uint64(limit) {
		return h, nil, fmt.Errorf("delta header claims %d values in a page of %d", total, limit)
	}
	return deltaHeader{perMini: int(block / minis), minis: int(minis), total: int(total), first: first}, b[n:], nil
}

// unpackDelta decodes one stream, handing each value to put in order, and
// returns the bytes behind it. Arithmetic wraps, as the format says.
func unpackDelta(b []byte, limit int, put func(i int, v int64)) (n int, rest []byte, err error) {
	h, b, err := readDeltaHeader(b, limit)
	if err != nil || h.total == 0 {
		return 0, b, err
	}
	put(0, h.first)
	last := h.first
	for i := 1; i < h.total; {
		least, k := binary.Varint(b)
		if k <= 0 || len(b)-k < h.minis {
			return 0, nil, fmt.Errorf("delta block: %w", io.ErrUnexpectedEOF)
		}
		widths := b[k : k+h.minis]
		b = b[k+h.minis:]
		for _, w := range widths {
			if i >= h.total {
				break
			}
			size := h.perMini / 8 * int(w)
			if w > 64 || size > len(b) {
				return 0, nil, fmt.Errorf("delta block of width %d: %w", w, io.ErrUnexpectedEOF)
			}
			for j := 0; j < h.perMini && i < h.total; j++ {
				last += least + int64(bitsAt(b[:size], j*int(w), uint(w)))
				put(i, last)
				i++
			}
			b = b[size:]
		}
	}
	return h.total, b, nil
}

// bitsAt returns the w bits of b from bit off, lowest first.
func bitsAt(b []byte, off int, w uint) uint64 {
	if w == 0 {
		return 0
	}
	var word [16]byte
	copy(word[:], b[off/8:])
	lo, hi := binary.LittleEndian.Uint64(word[:]), binary.LittleEndian.Uint64(word[8:])
	s := uint(off % 8)
	v := lo >> s
	if s > 0 {
		v |= hi << (64 - s)
	}
	return v & (^uint64(0) >> (64 - w))
}

// decodeDelta decodes a page of integers into the leaf's second buffer.
func (l *leaf) decodeDelta(b []byte, n int) ([]byte, error) {
	h, _, err := readDeltaHeader(b, n)
	if err != nil {
		return nil, err
	}
	dst := l.aux.grow(h.total*l.width, 0)
	if l.width == 4 {
		out := view[int32](dst)
		_, _, err = unpackDelta(b, n, func(i int, v int64) { out[i] = int32(v) })
	} else {
		out := view[int64](dst)
		_, _, err = unpackDelta(b, n, func(i int, v int64) { out[i] = v })
	}
	return dst, err
}

// openDeltaBytes decodes the lengths (and prefixes) of a page of byte arrays.
func (l *leaf) openDeltaBytes(enc format.Encoding, b []byte, n int) error {
	l.vals.mode = modeLengths
	var err error
	if enc == format.DeltaByteArray {
		l.vals.mode = modePrefixes
		l.last = l.last[:0]
		if l.prefs, b, err = appendDeltas(l.prefs[:0], b, n); err != nil {
			return fmt.Errorf("prefix lengths: %w", err)
		}
	}
	if l.sizes, b, err = appendDeltas(l.sizes[:0], b, n); err != nil {
		return fmt.Errorf("lengths: %w", err)
	}
	if l.vals.mode == modePrefixes && len(l.prefs) != len(l.sizes) {
		return fmt.Errorf("page has %d prefixes and %d suffixes", len(l.prefs), len(l.sizes))
	}
	l.vals.data, l.vals.sizes, l.vals.prefs = b, l.sizes, l.prefs
	return nil
}

func appendDeltas(dst []int32, b []byte, n int) ([]int32, []byte, error) {
	worst := uint64(0)
	_, rest, err := unpackDelta(b, n, func(_ int, v int64) {
		worst |= uint64(v)
		dst = append(dst, int32(v))
	})
	if err == nil && bits.Len64(worst) > 31 {
		err = errors.New("a length is negative or over 2 GiB")
	}
	return dst, rest, err
}
