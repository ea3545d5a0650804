package sluice

import (
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Row is one row by column name. Values are of the Go type that is nearest: nil, bool, int8 to int64, uint8 to uint64, float32, float64, string,
// []byte, time.Time for dates and timestamps, time.Duration for durations, []any for lists, Row for structs, map[any]any for maps, and
// string for what is left (decimals, times of day, intervals).
type Row map[string]any

// rowOf copies one row of columns that have these fields.
func rowOf(fields []arrow.Field, columns []arrow.Array, i int) Row {
	row := make(Row, len(fields))
	for k := range fields {
		row[fields[k].Name] = valueOf(columns[k], i)
	}
	return row
}

// valueOf copies one value.
func valueOf(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Null:
		return nil
	case array.ExtensionArray:
		return valueOf(a.Storage(), i)
	case *array.Dictionary:
		return valueOf(a.Dictionary(), a.GetValueIndex(i))
	case *array.Boolean:
		return a.Value(i)
	case *array.Struct:
		t := a.DataType().(*arrow.StructType)
		row := make(Row, a.NumField())
		for k := range a.NumField() {
			row[t.Field(k).Name] = valueOf(a.Field(k), i)
		}
		return row
	case *array.Map:
		return mapOf(a, i)
	case array.ListLike:
		return listOf(a, i)
	}
	if v := textOf(a, i); v != nil {
		return v
	}
	if v := timeOf(a, i); v != nil {
		return v
	}
	if v := numberOf(a, i); v != nil {
		return v
	}
	return a.ValueStr(i)
}

func listOf(a array.ListLike, i int) []any {
	start, end := a.ValueOffsets(i)
	out := make([]any, 0, end-start)
	for k := start; k < end; k++ {
		out = append(out, valueOf(a.ListValues(), int(k)))
	}
	return out
}

// mapOf makes a map; keys that Go cannot compare are written as text.
func mapOf(a *array.Map, i int) map[any]any {
	start, end := a.ValueOffsets(i)
	out := make(map[any]any, end-start)
	for k := int(start); k < int(end); k++ {
		key := valueOf(a.Keys(), k)
		switch key.(type) {
		case []byte, []any, Row, map[any]any:
			key = a.Keys().ValueStr(k)
		}
		out[key] = valueOf(a.Items(), k)
	}
	return out
}

func textOf(a arrow.Array, i int) any {
	switch a := a.(type) {
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.LargeString:
		return strings.Clone(a.Value(i))
	case *array.Binary:
		return append([]byte{}, a.Value(i)...)
	case *array.LargeBinary:
		return append([]byte{}, a.Value(i)...)
	case *array.FixedSizeBinary:
		return append([]byte{}, a.Value(i)...)
	}
	return nil
}

func timeOf(a arrow.Array, i int) any {
	switch a := a.(type) {
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		to, err := t.GetToTimeFunc()
		if err != nil { // a time zone that this machine does not know
			return a.Value(i).ToTime(t.Unit)
		}
		return to(a.Value(i))
	case *array.Date32:
		return a.Value(i).ToTime()
	case *array.Date64:
		return a.Value(i).ToTime()
	case *array.Duration:
		return time.Duration(a.Value(i)) * a.DataType().(*arrow.DurationType).Unit.Multiplier()
	}
	return nil
}

func numberOf(a arrow.Array, i int) any {
	switch a := a.(type) {
	case *array.Int64:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.Int32:
		return a.Value(i)
	case *array.Float32:
		return a.Value(i)
	case *array.Uint64:
		return a.Value(i)
	case *array.Uint32:
		return a.Value(i)
	case *array.Int16:
		return a.Value(i)
	case *array.Int8:
		return a.Value(i)
	case *array.Uint16:
		return a.Value(i)
	case *array.Uint8:
		return a.Value(i)
	case *array.Float16:
		return a.Value(i).Float32()
	}
	return nil
}
