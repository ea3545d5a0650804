package schema

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// flat walks a flatbuffer with bounds checks. Arrow's IPC reader allocates by
// the vector lengths that it finds, so those of a schema out of a file are
// checked first; what it reads besides is checked by slices and recovered.
type flat struct {
	b     []byte
	tally int // tables that may still be visited
}

var errFlat = errors.New("schema message is damaged")

func (f *flat) u32(p int) (int, error) {
	if p < 0 || p > len(f.b)-4 {
		return 0, errFlat
	}
	return int(binary.LittleEndian.Uint32(f.b[p:])), nil
}

// slot returns the position of field n of the table at p, 0 when it is absent.
func (f *flat) slot(p, n int) (int, error) {
	back, err := f.u32(p)
	if err != nil {
		return 0, err
	}
	vt := p - int(int32(back))
	if vt < 0 || vt > len(f.b)-4 {
		return 0, errFlat
	}
	size := int(binary.LittleEndian.Uint16(f.b[vt:]))
	at := 4 + 2*n
	if at+2 > size {
		return 0, nil
	}
	if vt+at+2 > len(f.b) {
		return 0, errFlat
	}
	off := int(binary.LittleEndian.Uint16(f.b[vt+at:]))
	if off == 0 {
		return 0, nil
	}
	return p + off, nil
}

// follow returns where the offset at p points to.
func (f *flat) follow(p int) (int, error) {
	off, err := f.u32(p)
	if err != nil || p+off > len(f.b)-4 {
		return 0, errFlat
	}
	return p + off, nil
}

// vector returns the length and first element of vector field n of a table; a
// length that its elements of four bytes cannot fill is refused.
func (f *flat) vector(table, n int) (length, first int, err error) {
	p, err := f.slot(table, n)
	if err != nil || p == 0 {
		return 0, 0, err
	}
	if p, err = f.follow(p); err != nil {
		return 0, 0, err
	}
	length, err = f.u32(p)
	if err != nil || length > (len(f.b)-p-4)/4 {
		return 0, 0, fmt.Errorf("%w: it has a list of %d elements in %d bytes", errFlat, length, len(f.b))
	}
	return length, p + 4, nil
}

// Positions of the fields of Arrow's Message.fbs and Schema.fbs, and the type
// number of unions.
const (
	messageHeader = 2
	messageExtra  = 4
	schemaFields  = 1
	schemaExtra   = 2
	fieldTypeType = 2
	fieldChildren = 5
	fieldExtra    = 6
	typeUnion     = 14
)

// verifyMessage checks the vectors of a schema message.
func verifyMessage(b []byte) error {
	f := &flat{b: b, tally: len(b) / 8}
	root, err := f.follow(0)
	if err != nil {
		return err
	}
	if _, _, err := f.vector(root, messageExtra); err != nil {
		return err
	}
	p, err := f.slot(root, messageHeader)
	if err != nil || p == 0 {
		return errFlat
	}
	if p, err = f.follow(p); err != nil {
		return err
	}
	if _, _, err := f.vector(p, schemaExtra); err != nil {
		return err
	}
	return f.fields(p, schemaFields, 0)
}

// fields checks the Field tables in vector n of a table.
func (f *flat) fields(table, n, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: it nests deeper than %d levels", errFlat, maxDepth)
	}
	count, first, err := f.vector(table, n)
	if err != nil {
		return err
	}
	// Tables may be shared, which would let a small message stand for an
	// exponential number of fields.
	if f.tally -= count; f.tally < 0 {
		return fmt.Errorf("%w: it repeats fields", errFlat)
	}
	for i := range count {
		p, err := f.follow(first + 4*i)
		if err != nil {
			return err
		}
		t, err := f.slot(p, fieldTypeType)
		if err != nil {
			return err
		}
		if t > 0 && t < len(f.b) && f.b[t] == typeUnion {
			return errors.New("union types are not supported")
		}
		if _, _, err := f.vector(p, fieldExtra); err != nil {
			return err
		}
		if err := f.fields(p, fieldChildren, depth+1); err != nil {
			return err
		}
	}
	return nil
}
