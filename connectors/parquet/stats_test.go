package parquet

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"
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
