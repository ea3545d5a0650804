package arraytest

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Text renders element i of a so that equal values give equal text. It uses the array's own methods only.
func Text(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case *array.Float32:
		return floatText(float64(a.Value(i)))
	case *array.Float64:
		return floatText(a.Value(i))
	case *array.Struct:
		var s strings.Builder
		for f := range a.NumField() {
			fmt.Fprintf(&s, "%s=%s ", a.DataType().(*arrow.StructType).Field(f).Name, Text(a.Field(f), i))
		}
		return "{" + strings.TrimSpace(s.String()) + "}"
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		parts := make([]string, 0, to-from)
		for x := from; x < to; x++ {
			parts = append(parts, Text(a.ListValues(), int(x)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case *array.Dictionary:
		return Text(a.Dictionary(), a.GetValueIndex(i))
	case array.ExtensionArray:
		return Text(a.Storage(), i)
	}
	b, err := json.Marshal(a.GetOneForMarshal(i))
	if err != nil {
		return "error " + err.Error()
	}
	return string(b)
}

func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case f == 0 && math.Signbit(f):
		return "-0"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// Column renders all elements of a.
func Column(a arrow.Array) []string {
	out := make([]string, a.Len())
	for i := range out {
		out[i] = Text(a, i)
	}
	return out
}

// Rows renders the rows of a record, their values separated by bars.
func Rows(rec arrow.RecordBatch) []string {
	out := make([]string, rec.NumRows())
	for i := range out {
		parts := make([]string, rec.NumCols())
		for c := range parts {
			parts[c] = Text(rec.Column(c), i)
		}
		out[i] = strings.Join(parts, " | ")
	}
	return out
}

// FromJSON makes a record from rows in JSON: `[{"a": 1}, {"a": null}]`.
func FromJSON(tb testing.TB, mem *Memory, schema *arrow.Schema, rows string) arrow.RecordBatch {
	tb.Helper()
	rec, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(rows))
	if err != nil {
		tb.Fatalf("make record: %v", err)
	}
	return rec
}
