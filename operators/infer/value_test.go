package infer

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// valueText renders one value.
func valueText(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case array.ExtensionArray:
		return valueText(a.Storage(), i)
	case *array.Struct:
		var f []string
		for k := range a.NumField() {
			f = append(f, valueText(a.Field(k), i))
		}
		return "{" + strings.Join(f, " ") + "}"
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		var f []string
		for k := from; k < to; k++ {
			f = append(f, valueText(a.ListValues(), int(k)))
		}
		return "[" + strings.Join(f, " ") + "]"
	case *array.Float32:
		return fmt.Sprint(a.Value(i))
	}
	return a.ValueStr(i)
}
