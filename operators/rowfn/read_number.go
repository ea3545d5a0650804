package rowfn

import (
	"reflect"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// bindNumber binds booleans and numbers to fields that hold all of their values; nil if the field does not.
func bindNumber(k reflect.Kind, id arrow.Type) binder {
	switch id {
	case arrow.BOOL:
		if k != reflect.Bool {
			return nil
		}
		return func(a arrow.Array) setter {
			v := a.(*array.Boolean)
			return func(i int, p unsafe.Pointer) error { *(*bool)(p) = v.Value(i); return nil }
		}
	case arrow.INT8:
		return widen(k, func(a arrow.Array) []int8 { return a.(*array.Int8).Values() })
	case arrow.INT16:
		return widen(k, func(a arrow.Array) []int16 { return a.(*array.Int16).Values() })
	case arrow.INT32:
		return widen(k, func(a arrow.Array) []int32 { return a.(*array.Int32).Values() })
	case arrow.INT64:
		return widen(k, func(a arrow.Array) []int64 { return a.(*array.Int64).Values() })
	case arrow.UINT8:
		return widen(k, func(a arrow.Array) []uint8 { return a.(*array.Uint8).Values() })
	case arrow.UINT16:
		return widen(k, func(a arrow.Array) []uint16 { return a.(*array.Uint16).Values() })
	case arrow.UINT32:
		return widen(k, func(a arrow.Array) []uint32 { return a.(*array.Uint32).Values() })
	case arrow.UINT64:
		return widen(k, func(a arrow.Array) []uint64 { return a.(*array.Uint64).Values() })
	case arrow.FLOAT32:
		return widen(k, func(a arrow.Array) []float32 { return a.(*array.Float32).Values() })
	case arrow.FLOAT64:
		return widen(k, func(a arrow.Array) []float64 { return a.(*array.Float64).Values() })
	}
	return nil
}

type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// widen stores numbers of type S in fields of a kind that holds every S.
func widen[S number](k reflect.Kind, values func(arrow.Array) []S) binder {
	from := reflect.TypeFor[S]()
	if !holds(k, from.Kind()) {
		return nil
	}
	switch k {
	case reflect.Int8:
		return convert[S, int8](values)
	case reflect.Int16:
		return convert[S, int16](values)
	case reflect.Int32:
		return convert[S, int32](values)
	case reflect.Int64, reflect.Int: // the engine runs on 64-bit systems
		return convert[S, int64](values)
	case reflect.Uint8:
		return convert[S, uint8](values)
	case reflect.Uint16:
		return convert[S, uint16](values)
	case reflect.Uint32:
		return convert[S, uint32](values)
	case reflect.Uint64, reflect.Uint:
		return convert[S, uint64](values)
	case reflect.Float32:
		return convert[S, float32](values)
	}
	return convert[S, float64](values)
}

func convert[S, D number](values func(arrow.Array) []S) binder {
	return func(a arrow.Array) setter {
		v := values(a)
		return func(i int, p unsafe.Pointer) error { *(*D)(p) = D(v[i]); return nil }
	}
}

// bits of the kinds of numbers: how many a value takes, by family.
var signedBits = map[reflect.Kind]int{reflect.Int8: 8, reflect.Int16: 16, reflect.Int32: 32, reflect.Int64: 64, reflect.Int: 64}
var unsignedBits = map[reflect.Kind]int{reflect.Uint8: 8, reflect.Uint16: 16, reflect.Uint32: 32, reflect.Uint64: 64, reflect.Uint: 64}
var floatBits = map[reflect.Kind]int{reflect.Float32: 24, reflect.Float64: 53}

// holds reports whether every value of kind s is one of kind d.
func holds(d, s reflect.Kind) bool {
	if n := floatBits[s]; n > 0 {
		return floatBits[d] >= n
	}
	if n := signedBits[s]; n > 0 {
		return signedBits[d] >= n || floatBits[d] >= n
	}
	n := unsignedBits[s]
	return unsignedBits[d] >= n || signedBits[d] > n || floatBits[d] >= n
}

// storedAs reports whether Arrow stores numbers of a type just as Go stores a slice of the kind.
func storedAs(k reflect.Kind, id arrow.Type) bool {
	switch k {
	case reflect.Int8:
		return id == arrow.INT8
	case reflect.Int16:
		return id == arrow.INT16
	case reflect.Int32:
		return id == arrow.INT32
	case reflect.Int64, reflect.Int:
		return id == arrow.INT64
	case reflect.Uint8:
		return id == arrow.UINT8
	case reflect.Uint16:
		return id == arrow.UINT16
	case reflect.Uint32:
		return id == arrow.UINT32
	case reflect.Uint64, reflect.Uint:
		return id == arrow.UINT64
	case reflect.Float32:
		return id == arrow.FLOAT32
	case reflect.Float64:
		return id == arrow.FLOAT64
	}
	return false
}
