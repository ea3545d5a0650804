package sql

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// getter gives the value of a row, which is not null: int64, uint64, float32, float64, bool, string, []byte (views of the array), number,
// time.Time, time.Duration (since midnight) or []any.
type getter func(row int) (any, error)

// number is a decimal: digits times ten to the minus scale.
type number struct {
	digits *big.Int
	scale  int32
}

// String writes the number with all digits of its scale.
func (n number) String() string {
	s := n.digits.String()
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	switch scale := int(n.scale); {
	case scale < 0:
		s += strings.Repeat("0", -scale)
	case scale > 0:
		if len(s) <= scale {
			s = strings.Repeat("0", scale+1-len(s)) + s
		}
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	return sign + s
}

// getterOf chooses the getter of an array. Lists come as lists where lists is set; other nested values, and lists where it is not, as JSON.
func getterOf(a arrow.Array, lists bool) (getter, error) {
	if g := wholeNumbers(a); g != nil {
		return g, nil
	}
	switch a := a.(type) {
	case *array.Null:
		return func(int) (any, error) { return nil, nil }, nil
	case *array.Boolean:
		return func(i int) (any, error) { return a.Value(i), nil }, nil
	case *array.Float16:
		return func(i int) (any, error) { return a.Value(i).Float32(), nil }, nil
	case *array.Float32:
		return func(i int) (any, error) { return a.Value(i), nil }, nil
	case *array.Float64:
		return func(i int) (any, error) { return a.Value(i), nil }, nil
	case array.StringLike:
		return func(i int) (any, error) { return a.Value(i), nil }, nil
	case *array.Binary:
		return func(i int) (any, error) { return a.Value(i), nil }, nil
	case *array.LargeBinary:
		return func(i int) (any, error) { return a.Value(i), nil }, nil
	case *array.FixedSizeBinary:
		return func(i int) (any, error) { return a.Value(i), nil }, nil
	case *array.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale //nolint // the array's type
		return func(i int) (any, error) { return number{a.Value(i).BigInt(), scale}, nil }, nil
	case *array.Decimal256:
		scale := a.DataType().(*arrow.Decimal256Type).Scale //nolint // the array's type
		return func(i int) (any, error) { return number{a.Value(i).BigInt(), scale}, nil }, nil
	case *array.Dictionary:
		values, err := getterOf(a.Dictionary(), lists)
		return func(i int) (any, error) { return values(a.GetValueIndex(i)) }, err
	case array.ExtensionArray:
		return getterOf(a.Storage(), lists)
	}
	if g := times(a); g != nil {
		return g, nil
	}
	if l, ok := a.(array.ListLike); ok && lists {
		if elem := l.ListValues().DataType(); !arrow.IsNested(elem.ID()) {
			return listOf(l)
		}
	}
	if !arrow.IsNested(a.DataType().ID()) {
		return nil, fmt.Errorf("%s has no form in a table; cast it", a.DataType())
	}
	return func(i int) (any, error) {
		text, err := json.Marshal(a.GetOneForMarshal(i))
		if err != nil {
			return nil, fmt.Errorf("the value has no JSON form: %w", err)
		}
		return string(text), nil
	}, nil
}

func wholeNumbers(a arrow.Array) getter {
	switch a := a.(type) {
	case *array.Int8:
		return func(i int) (any, error) { return int64(a.Value(i)), nil }
	case *array.Int16:
		return func(i int) (any, error) { return int64(a.Value(i)), nil }
	case *array.Int32:
		return func(i int) (any, error) { return int64(a.Value(i)), nil }
	case *array.Int64:
		return func(i int) (any, error) { return a.Value(i), nil }
	case *array.Uint8:
		return func(i int) (any, error) { return int64(a.Value(i)), nil }
	case *array.Uint16:
		return func(i int) (any, error) { return int64(a.Value(i)), nil }
	case *array.Uint32:
		return func(i int) (any, error) { return int64(a.Value(i)), nil }
	case *array.Uint64:
		return func(i int) (any, error) { return a.Value(i), nil }
	}
	return nil
}

func times(a arrow.Array) getter {
	switch a := a.(type) {
	case *array.Date32:
		return func(i int) (any, error) { return time.Unix(int64(a.Value(i))*86400, 0).UTC(), nil }
	case *array.Date64:
		return func(i int) (any, error) { return a.Value(i).ToTime(), nil }
	case *array.Time32:
		unit := a.DataType().(*arrow.Time32Type).Unit.Multiplier() //nolint // the array's type
		return func(i int) (any, error) { return time.Duration(a.Value(i)) * unit, nil }
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit.Multiplier() //nolint // the array's type
		return func(i int) (any, error) { return time.Duration(a.Value(i)) * unit, nil }
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit //nolint // the array's type
		return func(i int) (any, error) { return a.Value(i).ToTime(unit), nil }
	}
	return nil
}

func listOf(a array.ListLike) (getter, error) {
	values := a.ListValues()
	elem, err := getterOf(values, false)
	if err != nil {
		return nil, err
	}
	return func(i int) (any, error) {
		from, to := a.ValueOffsets(i)
		out := make([]any, 0, to-from)
		for j := from; j < to; j++ {
			if values.IsNull(int(j)) {
				out = append(out, nil)
				continue
			}
			v, err := elem(int(j))
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	}, nil
}

// base is what a type is made of: the values of dictionaries, the storage of extensions.
func base(t arrow.DataType) arrow.DataType {
	for {
		switch d := t.(type) {
		case *arrow.DictionaryType:
			t = d.ValueType
		case arrow.ExtensionType:
			t = d.StorageType()
		default:
			return t
		}
	}
}

// withoutForm is the error of a type that no table takes.
func withoutForm(t arrow.DataType) error {
	return fmt.Errorf("%s has no form in a table; cast it, or leave it out", t)
}
