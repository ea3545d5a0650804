package jsonl

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/encoded"

	"github.com/sluice-data/sluice/connectors/internal/scalar"
	"github.com/sluice-data/sluice/dataset/block"
)

// appender appends the JSON of one row of an array.
type appender func(dst []byte, row int) []byte

// writable reports a type that has no JSON form here.
func writable(dt arrow.DataType) error {
	switch t := dt.(type) {
	case *block.PixelsType:
		return nil
	case arrow.ExtensionType:
		return writable(t.StorageType())
	case *arrow.DictionaryType:
		return writable(t.ValueType)
	case *arrow.RunEndEncodedType:
		return writable(t.Encoded())
	case arrow.UnionType:
		return fmt.Errorf("%s has no JSON form; select one of its types", dt)
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if err := writable(f.Type); err != nil {
				return err
			}
		}
		return nil
	}
	if !slices.Contains(scalarIDs, dt.ID()) {
		return fmt.Errorf("%s has no JSON form; cast it", dt)
	}
	return nil
}

// appender makes the appender of an array, nulls included.
func (n *notes) appender(a arrow.Array) appender {
	value := n.valueAppender(a)
	if a.NullN() == 0 {
		return value
	}
	return func(dst []byte, row int) []byte {
		if a.IsNull(row) {
			return append(dst, "null"...)
		}
		return value(dst, row)
	}
}

func (n *notes) valueAppender(a arrow.Array) appender {
	switch a := a.(type) {
	case *block.PixelsArray:
		return n.pixels(a)
	case array.ExtensionArray:
		if a.DataType().(arrow.ExtensionType).ExtensionName() == "arrow.uuid" {
			return func(dst []byte, row int) []byte { return appendString(dst, a.ValueStr(row)) }
		}
		return n.appender(a.Storage())
	case *array.Dictionary:
		values := n.appender(a.Dictionary())
		return func(dst []byte, row int) []byte { return values(dst, a.GetValueIndex(row)) }
	case *array.RunEndEncoded:
		return n.runEnd(a)
	case *array.Struct:
		return n.object(a)
	case *array.Map:
		return n.mapping(a)
	case array.ListLike:
		return n.list(a)
	}
	if f := scalarAppender(a, n); f != nil {
		return f
	}
	return func(dst []byte, _ int) []byte { return append(dst, "null"...) } // writable refused the type before
}

// pixels writes what a person wants to know of a picture.
func (n *notes) pixels(a *block.PixelsArray) appender {
	s, ok := a.Storage().(*array.Struct)
	if !ok {
		return func(dst []byte, _ int) []byte { return append(dst, "null"...) }
	}
	var keys [][]byte
	var cols []appender
	for _, name := range []string{"width", "height", "channels"} {
		if i, ok := s.DataType().(*arrow.StructType).FieldIdx(name); ok {
			keys = append(keys, append(appendString(nil, name), ':'))
			cols = append(cols, n.appender(s.Field(i)))
		}
	}
	return members(keys, cols)
}

func (n *notes) object(a *array.Struct) appender {
	t := a.DataType().(*arrow.StructType) //nolint // a struct array has a struct type
	keys, cols := make([][]byte, a.NumField()), make([]appender, a.NumField())
	for i := range keys {
		keys[i] = append(appendString(nil, t.Field(i).Name), ':')
		cols[i] = n.appender(a.Field(i))
	}
	return members(keys, cols)
}

func members(keys [][]byte, cols []appender) appender {
	return func(dst []byte, row int) []byte {
		dst = append(dst, '{')
		for i, col := range cols {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = col(append(dst, keys[i]...), row)
		}
		return append(dst, '}')
	}
}

func (n *notes) list(a array.ListLike) appender {
	values := n.appender(a.ListValues())
	return func(dst []byte, row int) []byte {
		from, to := a.ValueOffsets(row)
		dst = append(dst, '[')
		for i := from; i < to; i++ {
			if i > from {
				dst = append(dst, ',')
			}
			dst = values(dst, int(i))
		}
		return append(dst, ']')
	}
}

// mapping writes a map as an object when its keys are strings, else as a list of {key, value}.
func (n *notes) mapping(a *array.Map) appender {
	keys, values := n.appender(a.Keys()), n.appender(a.Items())
	text := a.Keys().DataType().ID() == arrow.STRING || a.Keys().DataType().ID() == arrow.LARGE_STRING
	return func(dst []byte, row int) []byte {
		from, to := a.ValueOffsets(row)
		open, mid, end := "[", ",", "]"
		if text {
			open, end = "{", "}"
		}
		dst = append(dst, open...)
		for i := from; i < to; i++ {
			if i > from {
				dst = append(dst, mid...)
			}
			if text {
				dst = values(append(keys(dst, int(i)), ':'), int(i))
				continue
			}
			dst = append(keys(append(dst, `{"key":`...), int(i)), `,"value":`...)
			dst = append(values(dst, int(i)), '}')
		}
		return append(dst, end...)
	}
}

func (n *notes) runEnd(a *array.RunEndEncoded) appender {
	values := n.appender(a.Values())
	return func(dst []byte, row int) []byte {
		return values(dst, encoded.FindPhysicalIndex(a.Data(), row+a.Data().Offset()))
	}
}

// float appends a float so that it reads back as one: with a point or an exponent.
func (n *notes) float(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		n.nonFinite++
		return append(dst, "null"...)
	}
	return scalar.AppendFloat(dst, f, bits)
}

// text appends a string, replacing what is not UTF-8.
func (n *notes) text(dst []byte, s string) []byte {
	if !validString(s) {
		n.badText++
	}
	return appendString(dst, s)
}

func appendBase64(dst, b []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}
