package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-data/sluice/connectors/parquet"
)

// groupsShown is how many row groups are listed.
const groupsShown = 10

// storedColumn is a column of a file, over all row groups.
type storedColumn struct {
	parquet.Chunk
	codecs   []string
	min, max any
	bounded  bool // every row group had bounds
}

// inspectParquet describes the schema and the storage of a Parquet file from its footer.
func inspectParquet(r io.ReaderAt, bytes int64) (string, error) {
	f, err := parquet.Open(r, bytes)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %s in %s", rows(f.NumRows()), plural(int64(f.NumRowGroups()), "row group"))
	if by := f.CreatedBy(); by != "" {
		fmt.Fprintf(&b, ", written by %s", printable(clipRunes(by, widestColumn)))
	}
	b.WriteString("\n")
	for _, w := range f.Warnings() {
		fmt.Fprintf(&b, "  warning: %s\n", printable(w))
	}
	fmt.Fprintf(&b, "\nSchema\n%s", schemaText(f.Schema(), "  "))
	if f.NumRowGroups() > 0 {
		fmt.Fprintf(&b, "\nColumns as stored\n%s\nRow groups\n%s", storedText(storedColumns(f)), groupsText(f))
	}
	return b.String(), nil
}

// storedColumns adds up the chunks of every column.
func storedColumns(f *parquet.File) []*storedColumn {
	var out []*storedColumn
	for g := range f.NumRowGroups() {
		for i, c := range f.Chunks(g) {
			if i == len(out) {
				out = append(out, &storedColumn{Chunk: parquet.Chunk{Path: c.Path, Type: c.Type}, bounded: true})
			}
			s := out[i]
			s.Values += c.Values
			s.Compressed += c.Compressed
			s.Uncompressed += c.Uncompressed
			if s.Nulls >= 0 && c.Nulls >= 0 {
				s.Nulls += c.Nulls
			} else {
				s.Nulls = -1
			}
			s.Encodings, s.codecs = union(s.Encodings, c.Encodings...), union(s.codecs, c.Codec)
			s.bound(f, g)
		}
	}
	return out
}

// bound widens the bounds by those of a row group.
func (s *storedColumn) bound(f *parquet.File, g int) {
	st, ok := f.Stats(g, s.Path)
	switch {
	case ok && st.NullCount == st.Rows:
	case !ok || st.Min == nil || st.Max == nil:
		s.bounded = false
	default:
		if s.min == nil || compare(st.Min, s.min) < 0 {
			s.min = st.Min
		}
		if s.max == nil || compare(st.Max, s.max) > 0 {
			s.max = st.Max
		}
	}
}

func union(to []string, more ...string) []string {
	for _, m := range more {
		if !slices.Contains(to, m) {
			to = append(to, m)
		}
	}
	return to
}

// compare orders two bounds of one type.
func compare(a, b any) int {
	switch x := a.(type) {
	case int64:
		return compareAs(x, b)
	case uint64:
		return compareAs(x, b)
	case float64:
		return compareAs(x, b)
	case string:
		return compareAs(x, b)
	case []byte:
		if y, ok := b.([]byte); ok {
			return bytes.Compare(x, y)
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y)
		}
	case bool:
		if y, ok := b.(bool); ok && x != y {
			return map[bool]int{true: 1, false: -1}[x]
		}
	}
	return 0
}

func compareAs[T cmp.Ordered](x T, b any) int {
	if y, ok := b.(T); ok {
		return cmp.Compare(x, y)
	}
	return 0
}

func storedText(columns []*storedColumn) string {
	table := [][]string{{"  column", "type", "encodings", "compression", "\tbytes", "\tratio", "\tnulls", "min", "max"}}
	for _, c := range columns {
		ratio, nulls := "", "?"
		if c.Compressed > 0 {
			ratio = fmt.Sprintf("%.1f×", float64(c.Uncompressed)/float64(c.Compressed))
		}
		if c.Nulls >= 0 {
			nulls = count(c.Nulls)
		}
		lo, hi := "", ""
		if c.bounded {
			lo, hi = boundText(c.min), boundText(c.max)
		}
		table = append(table, []string{"  " + printable(clipRunes(c.Path, widestColumn)), c.Type, strings.Join(c.Encodings, " "), strings.Join(c.codecs, " "),
			"\t" + size(c.Compressed), "\t" + ratio, "\t" + nulls, lo, hi})
	}
	return strings.Join(grid(table, 1<<20), "\n") + "\n"
}

// boundText is a bound for people.
func boundText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return printable(clipRunes(x, 24))
	case []byte:
		return clipRunes(fmt.Sprintf("%x", x), 24)
	case float64:
		return strconv.FormatFloat(x, 'g', 6, 64)
	case time.Time:
		return x.UTC().Format("2006-01-02 15:04:05")
	}
	return fmt.Sprint(v)
}

func groupsText(f *parquet.File) string {
	table := [][]string{{"\t  group", "\trows", "\tbytes", "\tuncompressed"}}
	for g := range min(f.NumRowGroups(), groupsShown) {
		packed, plain := f.RowGroupBytes(g, nil)
		table = append(table, []string{"\t" + strconv.Itoa(g), "\t" + count(f.RowGroupRows(g)), "\t" + size(packed), "\t" + size(plain)})
	}
	text := strings.Join(grid(table, 1<<20), "\n") + "\n"
	if more := f.NumRowGroups() - groupsShown; more > 0 {
		text += fmt.Sprintf("  … and %s more\n", count(int64(more)))
	}
	return text
}
