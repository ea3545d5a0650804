package read

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// errFull says that the next values do not fit under the builder's limit. The
// builder is as it was before the call; the page position is not.
var errFull = errors.New("column is full")

// byteArrays reads n byte arrays into the builder.
func (l *leaf) byteArrays(n int) error {
	switch l.vals.mode {
	case modePlain:
		return l.plainBytes(n)
	case modeIndex:
		return l.gatherStrings(n)
	case modeLengths:
		return l.lengthBytes(n)
	case modePrefixes:
		return l.prefixBytes(n)
	}
	return errors.New("page has no values left")
}

// plainBytes walks the lengths first, so that room is taken once and the copy
// needs no checks.
func (l *leaf) plainBytes(n int) error {
	b := l.vals.data
	at, total := 0, 0
	for i := range n {
		if len(b)-at < 4 {
			return fmt.Errorf("value %d of %d: %w", i, n, io.ErrUnexpectedEOF)
		}
		k := int(binary.LittleEndian.Uint32(b[at:]))
		if k > len(b)-at-4 {
			return fmt.Errorf("value %d of %d claims %d bytes with %d left: %w", i, n, k, len(b)-at-4, io.ErrUnexpectedEOF)
		}
		at += 4 + k
		total += k
	}
	dst, off, err := l.out.reserveBytes(n, total)
	if err != nil {
		return err
	}
	src, pos, end := b, 0, l.out.size
	for i := range off {
		k := int(binary.LittleEndian.Uint32(src[pos:]))
		copy(dst[end:end+k], src[pos+4:pos+4+k])
		pos += 4 + k
		end += k
		off[i] = int32(end)
	}
	l.vals.data = b[at:]
	l.out.size = end
	return nil
}

// gatherStrings copies dictionary values.
func (l *leaf) gatherStrings(n int) error {
	d := &l.dict
	for n > 0 {
		idx := l.index[:min(n, indexChunk)]
		before := l.vals.runs
		if err := l.vals.runs.Uint32(idx); err != nil {
			return fmt.Errorf("dictionary indexes: %w", err)
		}
		total := 0
		for _, x := range idx {
			if int(x) >= d.n {
				return d.errIndex(x)
			}
			total += int(d.offsets[x+1] - d.offsets[x])
		}
		dst, off, err := l.out.reserveBytes(len(idx), total)
		if err != nil {
			l.vals.runs = before
			return err
		}
		if d.short {
			l.out.size = gatherShort(dst, off, l.out.size, d, idx)
		} else {
			end := l.out.size
			for i, x := range idx {
				end += copy(dst[end:], d.data.b[d.offsets[x]:d.offsets[x+1]])
				off[i] = int32(end)
			}
			l.out.size = end
		}
		n -= len(idx)
	}
	return nil
}

// gatherShort copies 16 bytes for every value, whatever its length: the next
// value overwrites the surplus, and both buffers have slack behind them.
func gatherShort(dst []byte, off []int32, end int, d *dictionary, idx []uint32) int {
	offsets := d.offsets
	src := unsafe.Pointer(unsafe.SliceData(d.data.b))
	out := unsafe.Pointer(unsafe.SliceData(dst))
	for i, x := range idx {
		from := offsets[x]
		*(*[shortValue]byte)(unsafe.Add(out, end)) = *(*[shortValue]byte)(unsafe.Add(src, int(from)))
		end += int(offsets[x+1] - from)
		off[i] = int32(end)
	}
	return end
}

// lengths returns how many bytes the next n values of DELTA_LENGTH_BYTE_ARRAY take; the page has them.
func (l *leaf) lengths(n int) (total int, err error) {
	if n > len(l.vals.sizes) {
		return 0, fmt.Errorf("page has %d values left, want %d: %w", len(l.vals.sizes), n, io.ErrUnexpectedEOF)
	}
	for _, k := range l.vals.sizes[:n] {
		total += int(k)
	}
	if total > len(l.vals.data) {
		return 0, fmt.Errorf("values take %d bytes, the page has %d: %w", total, len(l.vals.data), io.ErrUnexpectedEOF)
	}
	return total, nil
}

func (l *leaf) lengthBytes(n int) error {
	total, err := l.lengths(n)
	if err != nil {
		return err
	}
	dst, off, err := l.out.reserveBytes(n, total)
	if err != nil {
		return err
	}
	copy(dst[l.out.size:], l.vals.data[:total])
	for i, k := range l.vals.sizes[:n] {
		l.out.size += int(k)
		off[i] = int32(l.out.size)
	}
	l.vals.data, l.vals.sizes = l.vals.data[total:], l.vals.sizes[n:]
	return nil
}

func (l *leaf) prefixBytes(n int) error {
	if n > len(l.vals.sizes) {
		return fmt.Errorf("page has %d values left, want %d: %w", len(l.vals.sizes), n, io.ErrUnexpectedEOF)
	}
	total := 0
	for i, k := range l.vals.sizes[:n] {
		total += int(k) + int(l.vals.prefs[i])
	}
	dst, off, err := l.out.reserveBytes(n, total)
	if err != nil {
		return err
	}
	for i := range n {
		v, err := l.nextPrefixed()
		if err != nil {
			return err
		}
		l.out.size += copy(dst[l.out.size:], v)
		off[i] = int32(l.out.size)
	}
	return nil
}

// nextPrefixed rebuilds the next value of DELTA_BYTE_ARRAY in l.last.
func (l *leaf) nextPrefixed() ([]byte, error) {
	if len(l.vals.sizes) == 0 {
		return nil, fmt.Errorf("page has no values left: %w", io.ErrUnexpectedEOF)
	}
	p, k := int(l.vals.prefs[0]), int(l.vals.sizes[0])
	if p > len(l.last) || k > len(l.vals.data) {
		return nil, fmt.Errorf("value shares %d bytes with one of %d and adds %d of %d", p, len(l.last), k, len(l.vals.data))
	}
	l.last = append(l.last[:p], l.vals.data[:k]...)
	l.vals.data, l.vals.sizes, l.vals.prefs = l.vals.data[k:], l.vals.sizes[1:], l.vals.prefs[1:]
	return l.last, nil
}

// fixedPrefixes reads fixed-length values from DELTA_BYTE_ARRAY.
func (l *leaf) fixedPrefixes(dst []byte, n int) error {
	for i := range n {
		v, err := l.nextPrefixed()
		if err != nil {
			return err
		}
		if len(v) != l.width {
			return fmt.Errorf("value has %d bytes, the column's have %d", len(v), l.width)
		}
		copy(dst[i*l.width:], v)
	}
	return nil
}
