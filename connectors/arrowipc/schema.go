package arrowipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/sluice-data/sluice/dataset/codec/arrowmeta"
)

// decodeSchema reads an encapsulated schema message.
func decodeSchema(b []byte) (s *arrow.Schema, fields []arrowmeta.Field, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	m, err := arrowmeta.Encapsulated(b)
	if err != nil {
		return nil, nil, err
	}
	if err := arrowmeta.VerifySchema(m); err != nil {
		return nil, nil, err
	}
	if fields, err = arrowmeta.Dictionaries(m); err != nil {
		return nil, nil, err
	}
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, nil, err
	}
	defer r.Release()
	cols := r.Schema().Fields()
	for i := range cols {
		if hasView(cols[i].Type) && i < len(fields) {
			cols[i].Type = unview(cols[i].Type, &fields[i])
		}
		if err := readable(cols[i].Type); err != nil {
			return nil, nil, fmt.Errorf("column %q: %w", cols[i].Name, err)
		}
	}
	md := r.Schema().Metadata()
	return arrow.NewSchema(cols, &md), fields, nil
}

// schemaOfFooter reads the schema of a footer, which is the one that holds: some writers (Polars) put a message at the start of a file that lacks
// its prefix. Arrow's reader wants a message, so the footer gets one before it whose header is the schema in it; all offsets are relative.
func schemaOfFooter(f *arrowmeta.Flat, root int) (*arrow.Schema, []arrowmeta.Field, error) {
	at, err := f.Table(root, footerSchema)
	if err != nil || at == 0 {
		return nil, nil, errors.Join(err, fmt.Errorf("%w: the footer has no schema", errDamaged))
	}
	const prefix, message, table = 8, 32, 16 // bytes of the prefix and of the message before the footer; where the message's table begins
	b := make([]byte, prefix+message, prefix+message+len(f.B)+8)
	le := binary.LittleEndian
	le.PutUint32(b, 0xFFFFFFFF)
	m := b[prefix:]
	le.PutUint32(m, table)
	for i, v := range []uint16{12, 12, 8, 10, 4, 0} { // its own size and that of the table, then where version, kind, header and body length lie in it
		le.PutUint16(m[4+2*i:], v)
	}
	le.PutUint32(m[table:], table-4)
	le.PutUint32(m[table+4:], uint32(message+at-(table+4)))
	version, err := f.Int(root, 0, 2, 0)
	if err != nil {
		return nil, nil, err
	}
	le.PutUint16(m[table+8:], uint16(version))
	m[table+10] = arrowmeta.HeaderSchema
	b = append(b, f.B...)
	b = append(b, make([]byte, -len(b)&7)...)
	le.PutUint32(b[4:], uint32(len(b)-prefix))
	return decodeSchema(b)
}

// maxDigits is how many digits the widest decimal has.
const maxDigits = 76

// readable refuses types that the engine does not carry.
func readable(dt arrow.DataType) error {
	switch t := dt.(type) {
	case arrow.ExtensionType:
		return readable(t.StorageType())
	case *arrow.DictionaryType:
		return readable(t.ValueType)
	case *arrow.FixedSizeBinaryType:
		if t.ByteWidth <= 0 {
			return fmt.Errorf("%w: values of %d bytes", errDamaged, t.ByteWidth)
		}
	case *arrow.FixedSizeListType:
		if t.Len() < 0 {
			return fmt.Errorf("%w: lists of %d elements", errDamaged, t.Len())
		}
		return readable(t.Elem())
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType, *arrow.StructType:
		for _, f := range t.(arrow.NestedType).Fields() {
			if err := readable(f.Type); err != nil {
				return err
			}
		}
	case arrow.DecimalType:
		if p, s := t.GetPrecision(), t.GetScale(); p < 1 || p > maxDigits || s < -maxDigits || s > maxDigits {
			return fmt.Errorf("%w: decimals of precision %d and scale %d", errDamaged, p, s)
		}
	case *arrow.NullType, *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.StringType, *arrow.LargeStringType:
	case arrow.FixedWidthDataType:
		if _, nested := dt.(arrow.NestedType); nested {
			return fmt.Errorf("type %s is not supported; cast it when writing", dt)
		}
	default:
		return fmt.Errorf("type %s is not supported; cast it when writing", dt)
	}
	return nil
}
