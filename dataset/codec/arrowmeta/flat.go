package arrowmeta

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrDamaged is what every structural fault of a flatbuffer is.
var ErrDamaged = errors.New("schema message is damaged")

// Flat walks one flatbuffer. Positions are offsets into B; position 0 stands for an absent field.
type Flat struct {
	B     []byte
	tally int // tables that may still be visited
}

// NewFlat makes a walker of b.
func NewFlat(b []byte) *Flat { return &Flat{B: b, tally: len(b) / 8} }

func (f *Flat) u32(p int) (int, error) {
	if p < 0 || p > len(f.B)-4 {
		return 0, ErrDamaged
	}
	return int(binary.LittleEndian.Uint32(f.B[p:])), nil
}

// Root returns the position of the root table.
func (f *Flat) Root() (int, error) { return f.follow(0) }

// Slot returns the position of field n of the table at p, 0 when it is absent.
func (f *Flat) Slot(p, n int) (int, error) {
	back, err := f.u32(p)
	if err != nil {
		return 0, err
	}
	vt := p - int(int32(back))
	if vt < 0 || vt > len(f.B)-4 {
		return 0, ErrDamaged
	}
	size := int(binary.LittleEndian.Uint16(f.B[vt:]))
	at := 4 + 2*n
	if at >= size { // as Arrow's reader compares, also where an odd size cuts the entry in half
		return 0, nil
	}
	if vt+at+2 > len(f.B) {
		return 0, ErrDamaged
	}
	off := int(binary.LittleEndian.Uint16(f.B[vt+at:]))
	if off == 0 {
		return 0, nil
	}
	return p + off, nil
}

// follow returns where the offset at p points to.
func (f *Flat) follow(p int) (int, error) {
	off, err := f.u32(p)
	if err != nil || p+off > len(f.B)-4 {
		return 0, ErrDamaged
	}
	return p + off, nil
}

// Table returns the table that field n of the table at p refers to, 0 when it is absent.
func (f *Flat) Table(p, n int) (int, error) {
	at, err := f.Slot(p, n)
	if err != nil || at == 0 {
		return 0, err
	}
	return f.follow(at)
}

// Vector returns the length and first element of vector field n of a table; a length that its elements of size bytes cannot fill is
// refused.
func (f *Flat) Vector(table, n, size int) (length, first int, err error) {
	p, err := f.Table(table, n)
	if err != nil || p == 0 {
		return 0, 0, err
	}
	length, err = f.u32(p)
	if err != nil || length > (len(f.B)-p-4)/size {
		return 0, 0, fmt.Errorf("%w: it has a list of %d elements in %d bytes", ErrDamaged, length, len(f.B))
	}
	return length, p + 4, nil
}

// Element returns the table that element i of a vector of tables refers to.
func (f *Flat) Element(first, i int) (int, error) { return f.follow(first + 4*i) }

// Int reads a little-endian integer field of width 1, 2 or 8 bytes, def when it is absent.
func (f *Flat) Int(table, n, width int, def int64) (int64, error) {
	p, err := f.Slot(table, n)
	if err != nil || p == 0 {
		return def, err
	}
	if p > len(f.B)-width {
		return 0, ErrDamaged
	}
	switch width {
	case 1:
		return int64(f.B[p]), nil
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(f.B[p:]))), nil
	}
	return int64(binary.LittleEndian.Uint64(f.B[p:])), nil
}
