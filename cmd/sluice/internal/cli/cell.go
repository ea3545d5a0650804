package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset/block"
)

// Bounds of what one cell shows; the table cuts further to fit the terminal.
const (
	cellRunes = 200
	cellItems = 8
	cellDepth = 4
)

// null is how a missing value is shown.
const null = "null"

// cellText writes one value for people, on one line. It never writes control characters.
func cellText(a arrow.Array, row int) string { return clipRunes(cell(a, row, 0), cellRunes) }

func cell(a arrow.Array, row, depth int) string {
	if a.IsNull(row) || a.DataType().ID() == arrow.NULL {
		return null
	}
	switch c := a.(type) {
	case *block.ImageArray:
		return imageText(binaryAt(c.Storage(), row))
	case *block.PixelsArray:
		return pixelsText(c.Storage(), row)
	case array.ExtensionArray:
		if shape, ok := c.DataType().(interface{ Shape() []int64 }); ok {
			return "tensor " + shapeText(shape.Shape())
		}
		return cell(c.Storage(), row, depth)
	case *array.Dictionary:
		return cell(c.Dictionary(), c.GetValueIndex(row), depth)
	case *array.String:
		return textCell(c.Value(row), depth)
	case *array.LargeString:
		return textCell(c.Value(row), depth)
	case *array.Binary, *array.LargeBinary, *array.FixedSizeBinary:
		return "binary " + size(int64(len(binaryAt(a, row))))
	case *array.Float64:
		return floatText(c.Value(row), 64)
	case *array.Float32:
		return floatText(float64(c.Value(row)), 32)
	case *array.Float16:
		return floatText(float64(c.Value(row).Float32()), 32)
	case *array.Decimal128:
		return c.Value(row).ToString(c.DataType().(*arrow.Decimal128Type).Scale) //nolint // arrays of the type have it
	case *array.Decimal256:
		return c.Value(row).ToString(c.DataType().(*arrow.Decimal256Type).Scale) //nolint // same
	case *array.Timestamp:
		return timestampText(c, row)
	case *array.Struct, *array.Map, array.ListLike:
		return nested(a, row, depth)
	}
	return printable(a.ValueStr(row))
}

// textCell writes text bare at the top and quoted within lists and structs.
func textCell(s string, depth int) string {
	if len(s) > 4*cellRunes {
		s = s[:4*cellRunes]
	}
	s = strings.ToValidUTF8(s, "�")
	if depth > 0 {
		return printable(strconv.Quote(clipRunes(s, cellRunes)))
	}
	return printable(strings.NewReplacer("\n", "⏎", "\r", "", "\t", " ").Replace(clipRunes(s, cellRunes)))
}

func floatText(f float64, bits int) string {
	if math.IsNaN(f) {
		return "NaN"
	}
	short := strconv.FormatFloat(f, 'g', 6, bits)
	if exact := strconv.FormatFloat(f, 'g', -1, bits); len(exact) <= len(short)+2 {
		return exact
	}
	return short
}

func timestampText(c *array.Timestamp, row int) string {
	dt, ok := c.DataType().(*arrow.TimestampType)
	if !ok {
		return printable(c.ValueStr(row))
	}
	t := c.Value(row).ToTime(dt.Unit)
	if dt.TimeZone == "" {
		return t.UTC().Format("2006-01-02T15:04:05.999999999")
	}
	if zone, err := dt.GetZone(); err == nil && zone != nil {
		t = t.In(zone)
	}
	return t.Format(time.RFC3339Nano)
}

// nested writes lists, maps and structs.
func nested(a arrow.Array, row, depth int) string {
	if depth >= cellDepth {
		return "…"
	}
	switch c := a.(type) {
	case *array.Struct:
		dt, ok := c.DataType().(*arrow.StructType)
		if !ok {
			return "…"
		}
		return joined("{", "}", c.NumField(), func(i int) string {
			return printable(clipRunes(dt.Field(i).Name, cellRunes)) + ": " + cell(c.Field(i), row, depth+1)
		})
	case *array.Map:
		from, to := c.ValueOffsets(row)
		return joined("{", "}", int(to-from), func(i int) string {
			return cell(c.Keys(), int(from)+i, depth+1) + ": " + cell(c.Items(), int(from)+i, depth+1)
		})
	case array.ListLike:
		from, to := c.ValueOffsets(row)
		return joined("[", "]", int(to-from), func(i int) string { return cell(c.ListValues(), int(from)+i, depth+1) })
	}
	return "…"
}

// joined writes at most cellItems items and how many there are besides.
func joined(open, end string, n int, item func(i int) string) string {
	var b strings.Builder
	b.WriteString(open)
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == cellItems || b.Len() > 4*cellRunes {
			fmt.Fprintf(&b, "…+%d", n-i)
			break
		}
		b.WriteString(item(i))
	}
	b.WriteString(end)
	return b.String()
}

// binaryAt borrows the bytes of one row of any binary array.
func binaryAt(a arrow.Array, row int) []byte {
	switch c := a.(type) {
	case *array.Binary:
		return c.Value(row)
	case *array.LargeBinary:
		return c.Value(row)
	case *array.FixedSizeBinary:
		return c.Value(row)
	}
	return nil
}

func clipRunes(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

func shapeText(shape []int64) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(parts, "x")
}
