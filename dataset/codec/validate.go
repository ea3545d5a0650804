package codec

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const maxDepth = 64

// validate checks that every element of d can be read: buffers are long enough, offsets ascend and stay within the values,
// dictionary indices exist. It does not look at text.
func validate(d *array.Data, depth int) error {
	if depth > maxDepth {
		return corrupt("types nest deeper than %d", maxDepth)
	}
	n := d.Offset() + d.Len()
	if b := buffer(d, 0); b != nil && b.Len() > 0 && b.Len() < int(bitutil.BytesForBits(int64(n))) {
		return corrupt("a bitmap of %d bytes for %d rows", b.Len(), n)
	}
	dt := d.DataType()
	for {
		e, ok := dt.(arrow.ExtensionType)
		if !ok {
			break
		}
		dt = e.StorageType()
	}
	switch t := dt.(type) {
	case *arrow.NullType:
		return nil
	case *arrow.BooleanType:
		return values(d, n, 1)
	case *arrow.DictionaryType:
		return dictionary(d, t, n, depth)
	case *arrow.BinaryType, *arrow.StringType:
		return offsets[int32](d, n, buffer(d, 2).Len())
	case *arrow.LargeBinaryType, *arrow.LargeStringType:
		return offsets[int64](d, n, buffer(d, 2).Len())
	case *arrow.ListType, *arrow.MapType:
		return lists[int32](d, n, depth)
	case *arrow.LargeListType:
		return lists[int64](d, n, depth)
	case *arrow.FixedSizeListType:
		return children(d, n*int(t.Len()), depth)
	case *arrow.StructType:
		return children(d, n, depth)
	case arrow.FixedWidthDataType:
		return values(d, n, t.BitWidth())
	}
	return corrupt("type %s is not carried", d.DataType())
}

// buffer returns buffer i of d; a missing one reads as empty.
func buffer(d *array.Data, i int) *memory.Buffer {
	if b := d.Buffers(); i < len(b) && b[i] != nil {
		return b[i]
	}
	return emptyBuffer
}

var emptyBuffer = memory.NewBufferBytes(nil)

func values(d *array.Data, n, bits int) error {
	if have := buffer(d, 1).Len(); int64(have)*8 < int64(n)*int64(bits) {
		return corrupt("%d bytes of values for %d rows of %s", have, n, d.DataType())
	}
	return nil
}

func children(d *array.Data, n, depth int) error {
	for _, c := range d.Children() {
		if c.Len() < n {
			return corrupt("a child of %d rows, want %d", c.Len(), n)
		}
		if err := validate(c.(*array.Data), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func lists[O int32 | int64](d *array.Data, n, depth int) error {
	if len(d.Children()) != 1 {
		return corrupt("a list with %d children", len(d.Children()))
	}
	if err := offsets[O](d, n, d.Children()[0].Len()); err != nil {
		return err
	}
	return validate(d.Children()[0].(*array.Data), depth+1)
}

// offsets checks n+1 offsets against the number of values they point into. Arrays of no rows may have none.
func offsets[O int32 | int64](d *array.Data, n, have int) error {
	o := cast[O](buffer(d, 1).Bytes())
	if n == 0 && len(o) == 0 {
		return nil
	}
	if len(o) <= n {
		return corrupt("%d offsets for %d rows", len(o), n)
	}
	last := O(0)
	for _, x := range o[d.Offset() : n+1] {
		if x < last {
			return corrupt("offset %d follows %d", x, last)
		}
		last = x
	}
	if int64(last) > int64(have) {
		return corrupt("offset %d is beyond %d", last, have)
	}
	return nil
}

func dictionary(d *array.Data, t *arrow.DictionaryType, n, depth int) error {
	dict, _ := d.Dictionary().(*array.Data)
	if dict == nil {
		return corrupt("a dictionary column without its dictionary")
	}
	bits := t.IndexType.(arrow.FixedWidthDataType).BitWidth()
	if err := values(d, n, bits); err != nil {
		return err
	}
	if err := validate(dict, depth+1); err != nil {
		return err
	}
	p := buffer(d, 1).Bytes()
	switch bits {
	case 8:
		return indices(d, cast[uint8](p), n, dict.Len())
	case 16:
		return indices(d, cast[uint16](p), n, dict.Len())
	case 32:
		return indices(d, cast[uint32](p), n, dict.Len())
	default:
		return indices(d, cast[uint64](p), n, dict.Len())
	}
}

// indices are read as unsigned: negative ones are beyond every dictionary.
func indices[I uint8 | uint16 | uint32 | uint64](d *array.Data, ix []I, n, have int) error {
	valid := buffer(d, 0).Bytes()
	for i := d.Offset(); i < n; i++ {
		if uint64(ix[i]) >= uint64(have) && (len(valid) == 0 || bitutil.BitIsSet(valid, i)) {
			return corrupt("dictionary index %d of %d", ix[i], have)
		}
	}
	return nil
}

func cast[T any](p []byte) []T {
	var t T
	if len(p) < int(unsafe.Sizeof(t)) {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p))), len(p)/int(unsafe.Sizeof(t)))
}
