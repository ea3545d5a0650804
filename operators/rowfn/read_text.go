package rowfn

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// sharedText is the most text of a block that is copied as one string, from which the rows' strings are cut; longer text is copied row
// by row, so that a string that is kept does not keep all the others.
const sharedText = 1 << 20

func bindString(dt arrow.DataType) (binder, error) {
	switch dt.ID() {
	case arrow.STRING:
		return func(a arrow.Array) setter {
			s := a.(*array.String)
			return cutText(s.ValueOffsets(), s.ValueBytes())
		}, nil
	case arrow.LARGE_STRING:
		return func(a arrow.Array) setter {
			s := a.(*array.LargeString)
			return cutText(s.ValueOffsets(), s.ValueBytes())
		}, nil
	}
	return nil, mismatch(reflect.TypeFor[string](), dt)
}

// cutText makes the setter for text of which vals begins at the first offset.
func cutText[O int32 | int64](offs []O, vals []byte) setter {
	if len(offs) == 0 {
		return func(int, unsafe.Pointer) error { return nil }
	}
	base := offs[0]
	if len(vals) <= sharedText {
		all := string(vals)
		return func(i int, p unsafe.Pointer) error {
			*(*string)(p) = all[offs[i]-base : offs[i+1]-base]
			return nil
		}
	}
	return func(i int, p unsafe.Pointer) error {
		*(*string)(p) = string(vals[offs[i]-base : offs[i+1]-base])
		return nil
	}
}

func isBytes(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY, arrow.STRING, arrow.LARGE_STRING:
		return true
	}
	return false
}

func bindBytes(f field, dt arrow.DataType) (binder, error) {
	keep := func(v []byte, p unsafe.Pointer) error {
		if f.copied {
			v = append(make([]byte, 0, len(v)), v...)
		}
		*(*[]byte)(p) = v[:len(v):len(v)]
		return nil
	}
	switch dt.ID() {
	case arrow.BINARY:
		return func(a arrow.Array) setter {
			b := a.(*array.Binary)
			return func(i int, p unsafe.Pointer) error { return keep(b.Value(i), p) }
		}, nil
	case arrow.LARGE_BINARY:
		return func(a arrow.Array) setter {
			b := a.(*array.LargeBinary)
			return func(i int, p unsafe.Pointer) error { return keep(b.Value(i), p) }
		}, nil
	case arrow.FIXED_SIZE_BINARY:
		return func(a arrow.Array) setter {
			b := a.(*array.FixedSizeBinary)
			return func(i int, p unsafe.Pointer) error { return keep(b.Value(i), p) }
		}, nil
	case arrow.STRING:
		return func(a arrow.Array) setter {
			b := a.(*array.String)
			return func(i int, p unsafe.Pointer) error { return keep(viewText(b.Value(i)), p) }
		}, nil
	}
	return func(a arrow.Array) setter {
		b := a.(*array.LargeString)
		return func(i int, p unsafe.Pointer) error { return keep(viewText(b.Value(i)), p) }
	}, nil
}

func viewText(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// bindSlice reads lists. Lists of numbers that are stored as the slice holds them are viewed; others are built.
func bindSlice(f field, t reflect.Type, dt arrow.DataType) (binder, error) {
	var elem arrow.DataType
	switch d := dt.(type) {
	case *arrow.ListType:
		elem = d.Elem()
	case *arrow.LargeListType:
		elem = d.Elem()
	case *arrow.FixedSizeListType:
		elem = d.Elem()
	default:
		return nil, mismatch(t, dt)
	}
	inner, err := bind(f, t.Elem(), elem)
	if err != nil {
		return nil, fmt.Errorf("elements: %w", err)
	}
	width := int64(0)
	if storedAs(t.Elem().Kind(), elem.ID()) && t.Elem() != durationType {
		width = int64(t.Elem().Size())
	}
	return func(a arrow.Array) setter {
		l := a.(array.ListLike)
		if width > 0 && l.ListValues().NullN() == 0 && !f.copied {
			return viewList(l, width)
		}
		return buildList(f, t, l, inner(l.ListValues()))
	}, nil
}

// sliceHeader is how Go lays out a slice.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

func viewList(l array.ListLike, width int64) setter {
	d := l.ListValues().Data()
	buf := d.Buffers()[1]
	return func(i int, p unsafe.Pointer) error {
		from, to := l.ValueOffsets(i)
		h := (*sliceHeader)(p)
		if from == to {
			h.data = unsafe.Pointer(&nothing)
			return nil
		}
		at := (int64(d.Offset()) + from) * width
		h.data, h.len, h.cap = unsafe.Pointer(&buf.Bytes()[at]), int(to-from), int(to-from)
		return nil
	}
}

// nothing is where empty slices that are not nil point.
var nothing uint64

func buildList(f field, t reflect.Type, l array.ListLike, set setter) setter {
	size := t.Elem().Size()
	vals := l.ListValues()
	return func(i int, p unsafe.Pointer) error {
		from, to := l.ValueOffsets(i)
		n := int(to - from)
		s := reflect.MakeSlice(t, n, n)
		h := (*sliceHeader)(p)
		h.data, h.len, h.cap = s.UnsafePointer(), n, n
		for k := range n {
			if vals.IsNull(int(from) + k) {
				if f.zero || t.Elem().Kind() == reflect.Pointer {
					continue
				}
				return fmt.Errorf("element %d is null, elements are %s; use *%s or the tag option zero", k, t.Elem(), t.Elem())
			}
			if err := set(int(from)+k, unsafe.Add(h.data, uintptr(k)*size)); err != nil {
				return err
			}
		}
		return nil
	}
}
