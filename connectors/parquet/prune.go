package parquet

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
	"github.com/sluice-data/sluice/dataset/expr"
)

// rowRange is rows [from, to) of a row group.
type rowRange struct{ from, to int64 }

// leafField returns the column of a name, if it is not nested.
func (f *File) leafField(name string) *schema.Field {
	for _, fd := range f.schema.Fields {
		if fd.Arrow.Name == name && fd.Kind == schema.Leaf && fd.Column.MaxRep == 0 {
			return fd
		}
	}
	return nil
}

// bloomExcludes tells whether the Bloom filters of row group g say that no row of it satisfies the predicate. Damaged filters say nothing
// and are told to odd.
func (f *File) bloomExcludes(g int, predicate *expr.Expr, odd func(string)) bool {
	filters := map[string]*meta.Bloom{}
	found := false
	for _, name := range predicate.Columns() {
		fd := f.leafField(name)
		if fd == nil {
			continue
		}
		b, err := meta.ReadBloom(f.r, f.size, &f.meta.RowGroups[g].Columns[fd.Column.Index].MetaData.V)
		if err != nil {
			odd("the Bloom filter of column " + name + " is passed over: " + err.Error())
			continue
		}
		filters[name] = b
		found = found || b != nil
	}
	return found && !predicate.MayMatch(func(name string) (expr.ColumnStats, bool) {
		st, ok := f.Stats(g, name)
		if b := filters[name]; b != nil {
			fd := f.leafField(name)
			st.MayHave = func(v any) bool {
				hash, ok := bloomHash(fd, v)
				if !ok {
					return true
				}
				may, err := b.MayHave(hash)
				return may || err != nil
			}
		}
		return st, ok
	})
}

// bloomHash is the hash of a constant as a value of the column; ok is false where the two may be equal without having the same bytes.
func bloomHash(fd *schema.Field, v any) (hash uint64, ok bool) {
	dt := fd.Storage
	if d, is := dt.(*arrow.DictionaryType); is {
		dt = d.ValueType
	}
	switch c := fd.Column; {
	case c.Physical == format.ByteArray && (dt.ID() == arrow.STRING || dt.ID() == arrow.LARGE_STRING || dt.ID() == arrow.BINARY || dt.ID() == arrow.LARGE_BINARY):
		switch x := v.(type) {
		case string:
			return xxhash.Sum64([]byte(x)), true
		case []byte:
			return xxhash.Sum64(x), true
		}
	case arrow.IsInteger(dt.ID()):
		n, ok := wholeNumber(v)
		if c.Physical == format.Int32 {
			if c.Unsigned && (n < 0 || n > math.MaxUint32) || !c.Unsigned && n != int64(int32(n)) {
				return 0, false
			}
			return xxhash.Sum64(binary.LittleEndian.AppendUint32(nil, uint32(n))), ok
		}
		return xxhash.Sum64(binary.LittleEndian.AppendUint64(nil, uint64(n))), ok && c.Physical == format.Int64 && (n >= 0 || !c.Unsigned)
	case c.Physical == format.Double && dt.ID() == arrow.FLOAT64:
		x, ok := v.(float64)
		return xxhash.Sum64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))), ok && x != 0 && !math.IsNaN(x)
	case c.Physical == format.Float && dt.ID() == arrow.FLOAT32:
		x, ok := v.(float64)
		y := float32(x)
		return xxhash.Sum64(binary.LittleEndian.AppendUint32(nil, math.Float32bits(y))), ok && x != 0 && float64(y) == x
	}
	return 0, false
}

func wholeNumber(v any) (int64, bool) {
	switch x := v.(type) {
	case int64:
		return x, true
	case uint64:
		return int64(x), x <= math.MaxInt64
	case float64:
		return int64(x), x == math.Trunc(x) && math.Abs(x) < 1<<53
	}
	return 0, false
}

// pageRanges returns the rows of row group g that its page index does not exclude, ascending, out of how many ranges between the ends of
// pages, and how many of those are left. A row group without an index is one range.
func (f *File) pageRanges(g int, predicate *expr.Expr, odd func(string)) (left []rowRange, ranges, kept int) {
	rows := f.RowGroupRows(g)
	indexes := map[string]*pageBounds{}
	ends := []int64{0, rows}
	for _, name := range predicate.Columns() {
		fd := f.leafField(name)
		if fd == nil {
			continue
		}
		ix, err := meta.ReadPageIndex(f.r, f.size, &f.meta.RowGroups[g].Columns[fd.Column.Index], rows)
		if err != nil {
			odd("the page index of column " + name + " is passed over: " + err.Error())
		}
		if ix != nil && err == nil {
			indexes[name] = &pageBounds{ix, fd, rows}
			ends = append(ends, ix.First...)
		}
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	for i := range len(ends) - 1 {
		from, to := ends[i], ends[i+1]
		ranges++
		if len(indexes) > 0 && !predicate.MayMatch(func(name string) (expr.ColumnStats, bool) {
			if ix := indexes[name]; ix != nil {
				return ix.stats(from), true
			}
			return f.Stats(g, name)
		}) {
			continue
		}
		kept++
		if n := len(left); n > 0 && left[n-1].to == from {
			left[n-1].to = to
		} else {
			left = append(left, rowRange{from, to})
		}
	}
	return left, ranges, kept
}

// pageBounds is the page index of a column.
type pageBounds struct {
	*meta.PageIndex
	field *schema.Field
	rows  int64
}

// stats is what the index says of the page that row lies in.
func (p *pageBounds) stats(row int64) expr.ColumnStats {
	i, found := slices.BinarySearch(p.First, row)
	for found && i+1 < len(p.First) && p.First[i+1] == row { // pages without rows
		i++
	}
	if !found {
		i--
	}
	if i < 0 {
		return expr.ColumnStats{Rows: -1, NullCount: -1}
	}
	end := p.rows
	if i+1 < len(p.First) {
		end = p.First[i+1]
	}
	out := expr.ColumnStats{Rows: end - p.First[i], NullCount: -1}
	if !p.field.Arrow.Nullable {
		out.NullCount = 0
	}
	if len(p.NullCounts) > 0 && p.NullCounts[i] >= 0 && p.NullCounts[i] <= out.Rows {
		out.NullCount = p.NullCounts[i]
	}
	if p.NullPages[i] {
		out.NullCount = out.Rows
		return out
	}
	lo, hi := boundValue(p.MinValues[i], p.field), boundValue(p.MaxValues[i], p.field)
	if lo != nil && hi != nil && ordered(lo, hi) {
		out.Min, out.Max = lo, hi
	}
	return out
}
