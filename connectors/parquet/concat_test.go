package parquet

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"
	"pgregory.net/rapid"
)

func part(b []byte) Part { return Part{bytes.NewReader(b), int64(len(b))} }

// TestConcat joins files of ours, of the oracle and without rows, and reads the
// result with both.
func TestConcat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t)
		var parts []Part
		var all []arrow.RecordBatch
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			b := drawBatchOf(t, s)
			all = append(all, b)
			if rapid.Bool().Draw(t, "oracle wrote") {
				parts = append(parts, part(pqWrite(t, b, apq.NewWriterProperties(apq.WithCompression(2)))))
			} else {
				parts = append(parts, part(ourWrite(t, b, WriteOptions{RowGroupRows: 100})))
			}
		}
		var out bytes.Buffer
		rows, err := Concat(context.Background(), &out, parts...)
		if err != nil {
			if strings.Contains(err.Error(), "differs from the first part") {
				return // the oracle spells this schema differently
			}
			t.Fatalf("concat: %v", err)
		}
		want := array.NewTableFromRecords(s, all)
		if rows != want.NumRows() {
			t.Fatalf("joined %d rows of %d", rows, want.NumRows())
		}
		sameRows(t, want, pqRead(t, out.Bytes()))
		got, err := readAll(out.Bytes(), ReadOptions{Allocator: memory.NewGoAllocator()})
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		sameRows(t, want, got)
	})
}

func TestConcatRefusals(t *testing.T) {
	one := func(name string, dt arrow.DataType) []byte {
		s := arrow.NewSchema([]arrow.Field{{Name: name, Type: dt, Nullable: true}}, nil)
		b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
		b.Field(0).AppendNull()
		return ourWrite(t, b.NewRecordBatch(), WriteOptions{})
	}
	a := one("a", arrow.PrimitiveTypes.Int64)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := []struct {
		name  string
		ctx   context.Context
		parts []Part
		want  string
	}{
		{"none", t.Context(), nil, "there are none"},
		{"name", t.Context(), []Part{part(a), part(one("b", arrow.PrimitiveTypes.Int64))}, `column "b" differs`},
		{"type", t.Context(), []Part{part(a), part(one("a", arrow.PrimitiveTypes.Int32))}, `column "a" differs`},
		{"unit", t.Context(), []Part{part(one("a", arrow.FixedWidthTypes.Timestamp_ms)), part(one("a", arrow.FixedWidthTypes.Timestamp_us))}, "differs"},
		{"torn", t.Context(), []Part{part(a), part(a[:len(a)-5])}, "part 1: footer is torn"},
		{"cancelled", cancelled, []Part{part(a)}, "context canceled"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Concat(c.ctx, new(bytes.Buffer), c.parts...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
		})
	}
}
