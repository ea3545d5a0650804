package jsonl

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column builds one Arrow array from JSON values.
type column interface {
	// parse appends the value whose first byte is at i and returns the position after it, or -1 after scanner.fail. A column
	// whose parse failed may hold one value more or not; its owner truncates it.
	parse(s *scanner, i int) int
	// null appends a null.
	null()
	// truncate drops the values from n on; n is never more than the length.
	truncate(n int)
	// bytes is the size of what was appended so far.
	bytes() int
	// take hands over everything that was appended and empties the column.
	take() *array.Data
	release()
}

// anyKey marks a string field that takes any JSON value, keeping its source text. It never leaves the package.
const anyKey = "sluice.jsonl.any"

var anyText = arrow.NewMetadata([]string{anyKey}, []string{"1"})

func takesAny(f arrow.Field) bool { return f.Metadata.FindKey(anyKey) >= 0 }

// newColumn makes the column for a field.
func newColumn(mem memory.Allocator, f arrow.Field) (column, error) {
	dt, text := f.Type, takesAny(f)
	switch t := dt.(type) {
	case *arrow.BooleanType:
		return newBoolColumn(mem), nil
	case *arrow.Int8Type:
		return newIntColumn[int8](mem, dt), nil
	case *arrow.Int16Type:
		return newIntColumn[int16](mem, dt), nil
	case *arrow.Int32Type:
		return newIntColumn[int32](mem, dt), nil
	case *arrow.Int64Type:
		return newIntColumn[int64](mem, dt), nil
	case *arrow.Uint8Type:
		return newUintColumn[uint8](mem, dt), nil
	case *arrow.Uint16Type:
		return newUintColumn[uint16](mem, dt), nil
	case *arrow.Uint32Type:
		return newUintColumn[uint32](mem, dt), nil
	case *arrow.Uint64Type:
		return newUintColumn[uint64](mem, dt), nil
	case *arrow.Float32Type:
		return newFloatColumn[float32](mem, dt), nil
	case *arrow.Float64Type:
		return newFloatColumn[float64](mem, dt), nil
	case *arrow.StringType:
		return newTextColumn[int32](mem, dt, text), nil
	case *arrow.LargeStringType:
		return newTextColumn[int64](mem, dt, text), nil
	case *arrow.BinaryType:
		return newBase64Column[int32](mem, dt), nil
	case *arrow.LargeBinaryType:
		return newBase64Column[int64](mem, dt), nil
	case *arrow.TimestampType:
		return newTimestampColumn(mem, t), nil
	case *arrow.Date32Type:
		return newDateColumn(mem), nil
	case *arrow.Decimal128Type:
		return newDecimalColumn(mem, t), nil
	case *arrow.StructType:
		return newStructColumn(mem, t)
	case *arrow.ListType:
		return newListColumn[int32](mem, dt, t.ElemField())
	case *arrow.LargeListType:
		return newListColumn[int64](mem, dt, t.ElemField())
	case arrow.ExtensionType:
		inner, err := newColumn(mem, arrow.Field{Type: t.StorageType(), Metadata: f.Metadata})
		if err != nil {
			return nil, err
		}
		return &extensionColumn{inner, t}, nil
	}
	return nil, fmt.Errorf("read JSON as %s: not supported; read it as string and cast it", dt)
}

// extensionColumn gives a column of storage values its extension type.
type extensionColumn struct {
	column
	dt arrow.ExtensionType
}

func (c *extensionColumn) take() *array.Data {
	return retype(c.column.take(), c.dt)
}

// retype returns d with another type of the same layout and takes over the reference to d.
func retype(d *array.Data, dt arrow.DataType) *array.Data {
	defer d.Release()
	return array.NewData(dt, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
}

// mismatch reports a value that is not of the column's type. It names both kinds; the decoder adds place and remedy.
func (s *scanner) mismatch(i int, want arrow.DataType) int {
	return s.failWant(i, want, "is "+kindAt(s.buf, i))
}

// failWant reports the value at i as unfit for a column of type want.
func (s *scanner) failWant(i int, want arrow.DataType, why string) int {
	s.fail(i, why)
	s.want = want
	return -1
}

// isNull reports whether the value at i starts a null; the caller still has to match the word.
func (s *scanner) isNull(i int) bool { return s.buf[i] == 'n' }

// kindAt names the kind of JSON value that starts at b[i].
func kindAt(b []byte, i int) string {
	switch c := b[i]; {
	case c == '"':
		return "a string"
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == 't' || c == 'f':
		return "a boolean"
	case c == 'n':
		return "null"
	case c == '-' || c-'0' <= 9:
		return "a number"
	}
	return "not a JSON value"
}
