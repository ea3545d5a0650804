package arrowmeta

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Positions of the fields of Arrow's Message.fbs and Schema.fbs, and the number of a type that is refused.
const (
	MessageType   = 1 // of the header: HeaderSchema …
	MessageHeader = 2
	MessageBody   = 3 // length of the body
	messageExtra  = 4

	schemaEndian = 0
	SchemaFields = 1
	schemaExtra  = 2

	fieldType       = 2 // number of the type
	FieldDictionary = 4
	FieldChildren   = 5
	fieldExtra      = 6

	typeUnion = 14
)

// Kinds of message.
const (
	HeaderSchema     = 1
	HeaderDictionary = 2
	HeaderBatch      = 3
)

// MaxDepth is how deep types may nest.
const MaxDepth = 64

// Encapsulated returns the flatbuffer of the encapsulated message at the start of b, whose length is covered by b.
func Encapsulated(b []byte) ([]byte, error) {
	if len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0xFFFFFFFF {
		b = b[4:]
	}
	if len(b) < 4 {
		return nil, errors.New("schema message is cut off")
	}
	n := binary.LittleEndian.Uint32(b)
	if int64(n) > int64(len(b)-4) {
		return nil, fmt.Errorf("schema message claims %d bytes of %d", n, len(b)-4)
	}
	return b[4 : 4+n], nil
}

// VerifySchema checks the vectors of a schema message, so that Arrow's reader allocates no more than its bytes warrant. What that reader
// reads besides is checked by slices: the caller recovers.
func VerifySchema(b []byte) error {
	f := NewFlat(b)
	p, err := f.schema()
	if err != nil {
		return err
	}
	if _, _, err := f.Vector(p, schemaExtra, 4); err != nil {
		return err
	}
	root, err := f.Root()
	if err != nil {
		return err
	}
	switch body, err := f.Int(root, MessageBody, 8, 0); { // Arrow's reader makes room for it before it looks for it
	case err != nil:
		return err
	case body != 0:
		return fmt.Errorf("%w: a body of %d bytes follows, and a schema has none", ErrDamaged, body)
	}
	return f.fields(p, SchemaFields, 0)
}

// schema finds the Schema table of a message.
func (f *Flat) schema() (int, error) {
	root, err := f.Root()
	if err != nil {
		return 0, err
	}
	if _, _, err := f.Vector(root, messageExtra, 4); err != nil {
		return 0, err
	}
	p, err := f.Table(root, MessageHeader)
	if err == nil && p == 0 {
		err = ErrDamaged
	}
	if err != nil {
		return 0, err
	}
	return p, nil
}

// fields checks the Field tables in vector n of a table.
func (f *Flat) fields(table, n, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%w: it nests deeper than %d levels", ErrDamaged, MaxDepth)
	}
	count, first, err := f.Vector(table, n, 4)
	if err != nil {
		return err
	}
	// Tables may be shared, which would let a small message stand for an
	// exponential number of fields.
	if f.tally -= count; f.tally < 0 {
		return fmt.Errorf("%w: it repeats fields", ErrDamaged)
	}
	for i := range count {
		p, err := f.Element(first, i)
		if err != nil {
			return err
		}
		switch t, err := f.Int(p, fieldType, 1, 0); {
		case err != nil:
			return err
		case t == typeUnion:
			return errors.New("union types are not supported")
		}
		if _, _, err := f.Vector(p, fieldExtra, 4); err != nil {
			return err
		}
		if err := f.fields(p, FieldChildren, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Dictionaries tells which dictionary each field of a verified schema message refers to, as a tree along its fields. Schemas of big-endian
// data are refused.
func Dictionaries(b []byte) ([]Field, error) {
	f := NewFlat(b)
	p, err := f.schema()
	if err != nil {
		return nil, err
	}
	if big, err := f.Int(p, schemaEndian, 2, 0); err != nil || big != 0 {
		return nil, errors.Join(err, errors.New("big-endian data is not supported; write it on a little-endian machine"))
	}
	return f.dictionaries(p, SchemaFields)
}

// Field is what a schema message says of one field besides its type.
type Field struct {
	Dictionary bool
	ID         int64 // of the dictionary
	View       bool  // it is one of views, or its dictionary is: set by readers that give it as ordinary text or binary
	Children   []Field
}

func (f *Flat) dictionaries(table, n int) ([]Field, error) {
	count, first, err := f.Vector(table, n, 4)
	if err != nil {
		return nil, err
	}
	out := make([]Field, count)
	for i := range out {
		p, err := f.Element(first, i)
		if err != nil {
			return nil, err
		}
		d, err := f.Table(p, FieldDictionary)
		if err != nil {
			return nil, err
		}
		if d != 0 {
			out[i].Dictionary = true
			if out[i].ID, err = f.Int(d, 0, 8, 0); err != nil {
				return nil, err
			}
		}
		if out[i].Children, err = f.dictionaries(p, FieldChildren); err != nil {
			return nil, err
		}
	}
	return out, nil
}
