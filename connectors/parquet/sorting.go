package parquet

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// rowOrder checks that the rows of each row group are sorted by some columns, so that the footer may say so: readers skip and merge by it.
// The writer does not sort: the step sort does, with all the memory and disk that it takes.
type rowOrder struct {
	mem  memory.Allocator
	keys []orderKey
	last []arrow.Array // one row each: the last one of the row group; nil at its beginning
}

type orderKey struct {
	name    string
	column  int // of the batch
	leaf    int // of the file
	desc    bool
	compare func(a arrow.Array, i int, b arrow.Array, j int) int
}

// newRowOrder resolves the names of columns, each with " desc" behind it or not.
func newRowOrder(s *arrow.Schema, m *meta.FileMetaData, names []string) (o rowOrder, err error) {
	if len(names) == 0 {
		return o, nil
	}
	tree, err := schema.FromFile(m)
	if err != nil {
		return o, err
	}
	for _, text := range splitNames(s, names) {
		k := orderKey{name: strings.TrimSpace(text)}
		if n, ok := strings.CutSuffix(k.name, " desc"); ok {
			k.name, k.desc = strings.TrimSpace(n), true
		}
		if k.column, err = dataset.FieldIndex(s, k.name); err != nil {
			return o, fmt.Errorf("sort=%s: %w", text, err)
		}
		fd := tree.Fields[k.column]
		if k.compare = comparison(s.Field(k.column).Type); fd.Kind != schema.Leaf || k.compare == nil {
			return o, fmt.Errorf("sort=%s: a column of type %s has no order; use numbers, text, booleans, dates or times", text, s.Field(k.column).Type)
		}
		k.leaf = fd.Column.Index
		if slices.ContainsFunc(o.keys, func(other orderKey) bool { return other.name == k.name }) {
			return o, fmt.Errorf("sort=%s: the column is named twice", text)
		}
		o.keys = append(o.keys, k)
	}
	return o, nil
}

// splitNames divides "a, b desc" into its parts, for that is how it is written in quotes.
func splitNames(s *arrow.Schema, names []string) (out []string) {
	for _, n := range names {
		if s.HasField(n) {
			out = append(out, n)
		} else {
			out = append(out, strings.Split(n, ",")...)
		}
	}
	return out
}

// checkBloom checks the names of columns with Bloom filters.
func checkBloom(s *arrow.Schema, names []string) error {
	for _, n := range names {
		at, err := dataset.FieldIndex(s, n)
		if err != nil {
			return fmt.Errorf("bloom=%s: %w", n, err)
		}
		if t := s.Field(at).Type; arrow.IsNested(t.ID()) || t.ID() == arrow.BOOL || t.ID() == arrow.NULL {
			return fmt.Errorf("bloom=%s: a column of type %s has no Bloom filter; use numbers, text or bytes", n, t)
		}
	}
	return nil
}

// columns is what the footer says of a row group.
func (o *rowOrder) columns() []format.SortingColumn {
	var out []format.SortingColumn
	for _, k := range o.keys {
		out = append(out, format.SortingColumn{ColumnIdx: int32(k.leaf), Descending: k.desc})
	}
	return out
}

// restart begins a row group.
func (o *rowOrder) restart() {
	for _, a := range o.last {
		a.Release()
	}
	o.last = nil
}

// check looks at rows [lo, hi) of a batch, the first of which is the given row of the file.
func (o *rowOrder) check(b arrow.RecordBatch, lo, hi int, row int64) error {
	if len(o.keys) == 0 || lo == hi {
		return nil
	}
	for i := lo; i < hi; i++ {
		if i == lo && o.last == nil {
			continue
		}
		for n, k := range o.keys {
			col := b.Column(k.column)
			prev, j := col, i-1
			if i == lo {
				prev, j = o.last[n], 0
			}
			c := k.rank(prev, j, col, i)
			if c > 0 {
				return fmt.Errorf("sort=%s: row %d has %s behind %s: rows must come sorted; put | sort %s | before the sink, or leave the option out",
					k.text(), row+int64(i-lo), col.ValueStr(i), prev.ValueStr(j), o.text())
			}
			if c < 0 {
				break
			}
		}
	}
	o.restart()
	for _, k := range o.keys {
		one, err := block.TakeArray(o.mem, b.Column(k.column), []uint32{uint32(hi - 1)})
		if err != nil {
			return err
		}
		o.last = append(o.last, one)
	}
	return nil
}

// rank compares two slots in the order of the key: nulls come last.
func (k *orderKey) rank(a arrow.Array, i int, b arrow.Array, j int) int {
	switch an, bn := a.IsNull(i), b.IsNull(j); {
	case an && bn:
		return 0
	case an:
		return 1
	case bn:
		return -1
	}
	c := k.compare(a, i, b, j)
	if k.desc {
		return -c
	}
	return c
}

func (k *orderKey) text() string {
	if k.desc {
		return k.name + " desc"
	}
	return k.name
}

func (o *rowOrder) text() string {
	var out []string
	for _, k := range o.keys {
		out = append(out, k.text())
	}
	return strings.Join(out, ", ")
}

type arrayOf[T any] interface {
	arrow.Array
	Value(int) T
}

func compareAs[A arrayOf[T], T cmp.Ordered](a arrow.Array, i int, b arrow.Array, j int) int {
	return cmp.Compare(any(a).(A).Value(i), any(b).(A).Value(j))
}

// compareFloats has NaN above all numbers, as the engine does.
func compareFloats[A arrayOf[T], T float32 | float64](a arrow.Array, i int, b arrow.Array, j int) int {
	x, y := float64(any(a).(A).Value(i)), float64(any(b).(A).Value(j))
	switch xn, yn := math.IsNaN(x), math.IsNaN(y); {
	case xn && yn:
		return 0
	case xn:
		return 1
	case yn:
		return -1
	}
	return cmp.Compare(x, y)
}

// comparison compares values of a type; nil where it has no order.
func comparison(t arrow.DataType) func(a arrow.Array, i int, b arrow.Array, j int) int {
	switch t.ID() {
	case arrow.INT8:
		return compareAs[*array.Int8]
	case arrow.INT16:
		return compareAs[*array.Int16]
	case arrow.INT32:
		return compareAs[*array.Int32]
	case arrow.INT64:
		return compareAs[*array.Int64]
	case arrow.UINT8:
		return compareAs[*array.Uint8]
	case arrow.UINT16:
		return compareAs[*array.Uint16]
	case arrow.UINT32:
		return compareAs[*array.Uint32]
	case arrow.UINT64:
		return compareAs[*array.Uint64]
	case arrow.FLOAT32:
		return compareFloats[*array.Float32]
	case arrow.FLOAT64:
		return compareFloats[*array.Float64]
	case arrow.STRING:
		return compareAs[*array.String]
	case arrow.LARGE_STRING:
		return compareAs[*array.LargeString]
	case arrow.DATE32:
		return compareAs[*array.Date32]
	case arrow.DATE64:
		return compareAs[*array.Date64]
	case arrow.TIMESTAMP:
		return compareAs[*array.Timestamp]
	case arrow.BINARY:
		return func(a arrow.Array, i int, b arrow.Array, j int) int {
			return bytes.Compare(a.(*array.Binary).Value(i), b.(*array.Binary).Value(j))
		}
	case arrow.BOOL:
		return func(a arrow.Array, i int, b arrow.Array, j int) int {
			x, y := a.(*array.Boolean).Value(i), b.(*array.Boolean).Value(j)
			switch {
			case x == y:
				return 0
			case y:
				return -1
			}
			return 1
		}
	}
	return nil
}
