package sql

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgtype"
)

// decodeAll decodes raw as every type and as arrays of every type.
func decodeAll(t *testing.T, raw []byte) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	cols := []column{{typ: &arrow.Decimal128Type{Precision: 10, Scale: 2}, raw: pgtype.NumericOID}, {typ: &arrow.Decimal256Type{Precision: 76, Scale: 10}, raw: pgtype.NumericOID}}
	for oid, s := range pgScalars {
		cols = append(cols, column{typ: s.typ, raw: oid}, column{typ: arrow.ListOf(s.typ), elem: oid})
	}
	for _, c := range cols {
		b := array.NewBuilder(mem, c.typ)
		err := decoderOf(c)(raw, b)
		if n := b.Len(); n > 1 || n == 0 && err == nil {
			t.Errorf("%s: %d values, %v", c.typ, n, err)
		}
		if b.Len() == 0 {
			b.AppendNull()
		}
		a := b.NewArray()
		if s := a.ValueStr(0); s == "" && a.IsNull(0) {
			t.Errorf("%s: null shows as nothing", c.typ)
		}
		a.Release()
		b.Release()
	}
}

func TestDivide(t *testing.T) {
	for _, b := range []bounds{
		{lo: 1, hi: 1, any: true, bytes: 1 << 40}, {lo: -1 << 63, hi: 1<<63 - 1, any: true, bytes: 1 << 30}, {lo: -5, hi: 1000, any: true, bytes: 100},
		{lo: 0, hi: 1<<63 - 2, any: true, bytes: 1 << 35}, {}, {lo: 10, hi: 90, any: true, bytes: 1000, cuts: []int64{10, 10, 11, 12, 90}},
	} {
		cuts := b.divide(100)
		if (len(cuts) > 0) != b.any || len(cuts) > maxSplits {
			t.Fatalf("%+v: %d ranges", b, len(cuts))
		}
		for i, c := range cuts {
			if i == 0 && c != b.lo || i > 0 && c <= cuts[i-1] || c > b.hi {
				t.Fatalf("%+v: cut %d is %d", b, i, c)
			}
		}
	}
}
