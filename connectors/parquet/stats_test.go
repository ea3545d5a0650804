package parquet

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"

	"github.com/sluice-data/sluice/dataset/expr"
)

// TestStats checks the statistics of our writer and of the oracle's through
// our reader.
func TestStats(t *testing.T) {
	long := strings.Repeat("m", 100)
	s := fields("i", arrow.PrimitiveTypes.Int32, "u", arrow.PrimitiveTypes.Uint64, "f", arrow.PrimitiveTypes.Float64,
		"s", arrow.BinaryTypes.String, "b", arrow.FixedWidthTypes.Boolean, "d", arrow.FixedWidthTypes.Date32, "t", arrow.FixedWidthTypes.Timestamp_ms)
	rb := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	for i := range 3 {
		rb.Field(0).(*array.Int32Builder).Append(int32(i - 1))
		rb.Field(1).(*array.Uint64Builder).Append(math.MaxUint64 - uint64(i))
		rb.Field(2).(*array.Float64Builder).Append([]float64{math.NaN(), -2, 3}[i])
		rb.Field(3).(*array.StringBuilder).Append([]string{long, "b", "z"}[i])
		rb.Field(4).(*array.BooleanBuilder).Append(i > 0)
		rb.Field(5).(*array.Date32Builder).Append(arrow.Date32(i))
		rb.Field(6).(*array.TimestampBuilder).Append(arrow.Timestamp(i * 1000))
	}
	for i := range s.NumFields() {
		rb.Field(i).AppendNull()
	}
	b := rb.NewRecordBatch()
	day := func(n int64) time.Time { return time.Unix(n*86400, 0).UTC() }
	want := map[string][2]any{
		"i": {int64(-1), int64(1)}, "u": {uint64(math.MaxUint64 - 2), uint64(math.MaxUint64)}, "f": {-2.0, 3.0},
		"s": {"b", "z"}, "b": {false, true}, "d": {day(0), day(2)}, "t": {time.Unix(0, 0).UTC(), time.Unix(2, 0).UTC()},
	}
	for writer, file := range map[string][]byte{
		"ours": ourWrite(t, b, WriteOptions{}), "oracle": pqWrite(t, b, apq.NewWriterProperties(apq.WithStats(true))),
	} {
		f, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range want {
			st, ok := f.Stats(0, name)
			if !ok || st.Min != w[0] || st.Max != w[1] || st.NullCount != 1 || st.Rows != 4 {
				t.Errorf("%s: column %q has %+v, want %v", writer, name, st, w)
			}
		}
		if _, ok := f.Stats(0, "nope"); ok {
			t.Error("statistics of a column that is not there")
		}
	}
}

// TestCutBounds writes strings longer than statistics keep.
func TestCutBounds(t *testing.T) {
	cases := map[string]struct{ value, max string }{
		"plain": {strings.Repeat("a", 80), strings.Repeat("a", 63) + "b"},
		"carry": {strings.Repeat("a", 60) + strings.Repeat("\xff", 30), strings.Repeat("a", 59) + "b"},
	}
	for name, c := range cases {
		rb := array.NewRecordBuilder(memory.NewGoAllocator(), fields("x", arrow.BinaryTypes.Binary))
		rb.Field(0).(*array.BinaryBuilder).Append([]byte(c.value))
		file := ourWrite(t, rb.NewRecordBatch(), WriteOptions{})
		f, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		st, _ := f.Stats(0, "x")
		if got, _ := st.Max.([]byte); string(got) != c.max {
			t.Errorf("%s: max %q, want %q", name, got, c.max)
		}
		if got, _ := st.Min.([]byte); string(got) != c.value[:64] {
			t.Errorf("%s: min %q", name, got)
		}
	}
	rb := array.NewRecordBuilder(memory.NewGoAllocator(), fields("x", arrow.BinaryTypes.Binary))
	rb.Field(0).(*array.BinaryBuilder).Append(bytes.Repeat([]byte{0xFF}, 70))
	file := ourWrite(t, rb.NewRecordBatch(), WriteOptions{})
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if st, _ := f.Stats(0, "x"); st.Min != nil || st.Max != nil {
		t.Errorf("a maximum that cannot be cut gave %+v", st)
	}
}

// TestDecimalBounds asks whether bounds of decimals exclude what they should and nothing else: of our files and of arrow-go's, as integers and as
// bytes.
func TestDecimalBounds(t *testing.T) {
	s := fields("a", &arrow.Decimal128Type{Precision: 9, Scale: 2}, "b", &arrow.Decimal128Type{Precision: 18, Scale: 2},
		"c", &arrow.Decimal128Type{Precision: 30, Scale: 2}, "d", &arrow.Decimal256Type{Precision: 60, Scale: 2})
	rb := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	for _, v := range []int64{110, -150, 225} {
		for i := range 3 {
			rb.Field(i).(*array.Decimal128Builder).Append(decimal128.FromI64(v))
		}
		rb.Field(3).(*array.Decimal256Builder).Append(decimal256.FromI64(v))
	}
	b := rb.NewRecordBatch()
	for name, raw := range map[string][]byte{
		"ours": ourWrite(t, b, WriteOptions{}), "ours, pages": ourWrite(t, b, WriteOptions{PageRows: 1}),
		"arrow-go as integers": pqWrite(t, b, apq.NewWriterProperties(apq.WithStoreDecimalAsInteger(true))), "arrow-go": pqWrite(t, b, apq.NewWriterProperties()),
	} {
		f, err := Open(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		for _, col := range []string{"a", "b", "c", "d"} {
			for cond, want := range map[string]bool{
				"> 2.25": false, ">= 2.25": true, "< -1.5": false, "<= -1.5": true, "== 1.1": true, "== 3": false, "> 2": true, "< -2": false, "!= 0": true,
			} {
				e := mustParse(t, col+" "+cond)
				if got := e.MayMatch(func(c string) (expr.ColumnStats, bool) { return f.Stats(0, c) }); got != want {
					t.Errorf("%s: %s %s may match: %t, want %t", name, col, cond, got, want)
				}
			}
		}
		if left, _, kept := f.pageRanges(0, mustParse(t, "c > 2 and d > 2"), func(odd string) { t.Error(odd) }); name == "ours, pages" && (kept != 1 || left[0] != rowRange{2, 3}) {
			t.Errorf("%s: rows %v are left", name, left)
		}
	}
}

func mustParse(t *testing.T, text string) *expr.Expr {
	t.Helper()
	e, err := expr.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
