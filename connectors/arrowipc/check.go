package arrowipc

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// check makes sure that every one of n values can be read: buffers are long enough, offsets ascend within the values, children are long
// enough. Buffers that may be absent when there is no value are put in place.
func check(dt arrow.DataType, n int, raw []*memory.Buffer, children []arrow.ArrayData) error {
	for i := 1; i < len(raw); i++ {
		if raw[i] == nil {
			raw[i] = memory.NewBufferBytes([]byte{})
		}
	}
	switch t := dt.(type) {
	case *arrow.StructType:
		for _, c := range children {
			if c.Len() < n {
				return fmt.Errorf("%w: a field of %d values in a struct of %d", errDamaged, c.Len(), n)
			}
		}
		return nil
	case *arrow.FixedSizeListType:
		if c := children[0].Len(); int64(c) < int64(n)*int64(t.Len()) {
			return fmt.Errorf("%w: %d elements for %d lists of %d", errDamaged, c, n, t.Len())
		}
		return nil
	case *arrow.ListType, *arrow.MapType:
		return offsets[int32](raw, n, children[0].Len())
	case *arrow.LargeListType:
		return offsets[int64](raw, n, children[0].Len())
	case *arrow.StringType, *arrow.BinaryType:
		return offsets[int32](raw, n, raw[2].Len())
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return offsets[int64](raw, n, raw[2].Len())
	case *arrow.DictionaryType:
		return wide(raw, n, t.IndexType.(arrow.FixedWidthDataType).BitWidth())
	case arrow.FixedWidthDataType:
		return wide(raw, n, t.BitWidth())
	}
	return fmt.Errorf("type %s is not supported", dt)
}

func wide(raw []*memory.Buffer, n, bits int) error {
	if have := raw[1].Len(); int64(have) < bitutil.BytesForBits(int64(n)*int64(bits)) {
		return fmt.Errorf("%w: %d bytes for %d values of %d bits", errDamaged, have, n, bits)
	}
	return nil
}

// cast sees bytes as numbers.
func cast[T any](p []byte) []T {
	var t T
	if len(p) < int(unsafe.Sizeof(t)) {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p))), len(p)/int(unsafe.Sizeof(t)))
}

// offsets checks n+1 offsets into have values. Of no values there may be none; readers want at least one.
func offsets[O int32 | int64](raw []*memory.Buffer, n, have int) error {
	o := cast[O](raw[1].Bytes())
	if n == 0 && len(o) == 0 {
		raw[1].Release()
		raw[1] = memory.NewBufferBytes(make([]byte, unsafe.Sizeof(O(0))))
		return nil
	}
	if len(o) <= n {
		return fmt.Errorf("%w: %d offsets for %d values", errDamaged, len(o), n)
	}
	last := O(0)
	for _, x := range o[:n+1] {
		if x < last {
			return fmt.Errorf("%w: offset %d follows %d", errDamaged, x, last)
		}
		last = x
	}
	if int64(last) > int64(have) {
		return fmt.Errorf("%w: offset %d is beyond %d", errDamaged, last, have)
	}
	return nil
}

// checkIndices makes sure that every index that is not null names one of have values.
func checkIndices(t *arrow.DictionaryType, n int, raw []*memory.Buffer, nulls, have int) error {
	var valid []byte
	if nulls > 0 {
		valid = raw[0].Bytes()
	}
	p := raw[1].Bytes()
	switch t.IndexType.(arrow.FixedWidthDataType).BitWidth() {
	case 8:
		return indices(cast[uint8](p), n, valid, have)
	case 16:
		return indices(cast[uint16](p), n, valid, have)
	case 32:
		return indices(cast[uint32](p), n, valid, have)
	}
	return indices(cast[uint64](p), n, valid, have)
}

// indices are read as unsigned: negative ones are beyond every dictionary.
func indices[I uint8 | uint16 | uint32 | uint64](ix []I, n int, valid []byte, have int) error {
	for i, x := range ix[:n] {
		if uint64(x) >= uint64(have) && (valid == nil || bitutil.BitIsSet(valid, i)) {
			return fmt.Errorf("%w: value %d has index %d in a dictionary of %d", errDamaged, i, x, have)
		}
	}
	return nil
}
