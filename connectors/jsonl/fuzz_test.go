package jsonl

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/internal/lines"
	"github.com/sluice-data/sluice/dataset/block"
)

// reference parses a line the slow way. Known divergences from the scanner, all deliberate: encoding/json allows any depth up to
// 10,000 and reads a newline as a blank; neither happens here, as lines have no newline and the limit is raised. Keys and strings are
// compared after U+FFFD replacement.
func reference(line []byte) (map[string]any, bool) {
	if bytes.IndexByte(line, '\n') >= 0 {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// fuzzDecoder reads one line with the given fields and replacement of invalid text.
func fuzzLine(tb testing.TB, mem memory.Allocator, line []byte, fields ...arrow.Field) (*block.Block, *LineError) {
	tb.Helper()
	schema := arrow.NewSchema(fields, nil)
	opt := Options{Invalid: InvalidReplace, MaxDepth: 10000}.withDefaults()
	d, err := newDecoder(mem, opt, &pinned{fields: fields, schema: schema}, schema, 10, 1<<20)
	if err != nil {
		tb.Fatal(err)
	}
	defer d.release()
	d.buf = append(append(append([]byte{}, line...), '\n'), make([]byte, pad)...)
	next, row := d.line(0)
	if next < 0 {
		return nil, d.lineError(0)
	}
	if next != len(line)+1 {
		tb.Fatalf("line of %d bytes ends at %d", len(line), next)
	}
	if row {
		d.place(&block.File{}, "", 0)
	}
	return d.take(), nil
}

// FuzzLine compares acceptance and values with encoding/json.
func FuzzLine(f *testing.F) {
	for _, s := range []string{`{"a": 1, "b": "x", "c": 0.5}`, `{"a":-0,"b":"\ud83d\ude00\u00e9\/","c":1e-7}`, `{}`, ` { } `, `{"a":1,"a":2}`,
		`{"c": 123456789012345678901234567890}`, `{"c":0.1e1, "z":[{"y":[null,true,false]}]}`, `{"b": "\ud800x"}`, "{\"b\":\"\xff\"}",
		`{"a":01}`, `{"a":1.}`, `{"a":+1}`, `{"a":1}}`, `[1]`, `{"a" 1}`, `{"a":nul}`, `{"c":1e400}`, `{"b":"long enough to take the eight byte path"}`,
		`{"c":9007199254740993}`, `{"c":0.000000000000000000000000000000000000001}`, "{\"b\":\"tab\there\"}", `{"a":9223372036854775808}`} {
		f.Add([]byte(s))
	}
	text := arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Metadata: anyText}
	f.Fuzz(func(t *testing.T, line []byte) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		if bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		want, ok := reference(line)
		b, bad := fuzzLine(t, mem, line, text)
		if blank := len(bytes.Trim(line, " \t\r")) == 0; blank {
			if bad != nil {
				t.Fatalf("blank line %q: %v", line, bad)
			}
			b.Release()
			return
		}
		if ok != (bad == nil) {
			t.Fatalf("encoding/json accepts %q: %v; here: %v", line, ok, bad)
		}
		if bad != nil {
			return
		}
		defer b.Release()
		if s, isString := want["b"].(string); isString {
			if got := b.Column(0).(*array.String).Value(0); got != s || !utf8.ValidString(got) {
				t.Fatalf("%q: string %q, want %q", line, got, s)
			}
		}
		compareNumber(t, mem, line, want)
	})
}

// compareNumber checks key c as a float and key a as an integer.
func compareNumber(t *testing.T, mem memory.Allocator, line []byte, want map[string]any) {
	if n, ok := want["c"].(json.Number); ok && strings.Count(string(line), `"c"`) == 1 {
		f, err := n.Float64()
		b, bad := fuzzLine(t, mem, line, arrow.Field{Name: "c", Type: arrow.PrimitiveTypes.Float64})
		if (err == nil) != (bad == nil) {
			t.Fatalf("%q: float %v, %v; here %v", line, f, err, bad)
		}
		if bad == nil {
			if got := b.Column(0).(*array.Float64).Value(0); math.Float64bits(got) != math.Float64bits(f) {
				t.Fatalf("%q: float %v, want %v", line, got, f)
			}
			b.Release()
		}
	}
	if n, ok := want["a"].(json.Number); ok && strings.Count(string(line), `"a"`) == 1 {
		i, err := n.Int64()
		b, bad := fuzzLine(t, mem, line, arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64})
		if err == nil && bad != nil {
			t.Fatalf("%q: int %d; here %v", line, i, bad)
		}
		if bad == nil {
			got := b.Column(0).(*array.Int64).Value(0)
			if err == nil && got != i {
				t.Fatalf("%q: int %d, want %d", line, got, i)
			}
			if f, ferr := n.Float64(); ferr != nil || float64(got) != f {
				t.Fatalf("%q: int %d, want %v", line, got, f)
			}
			b.Release()
		}
	}
}

// FuzzTyped throws lines at every column type: nothing may panic, leak or leave columns of unequal length.
func FuzzTyped(f *testing.F) {
	f.Add([]byte(`{"i":1,"u":2,"s":"x","y":"AAA=","t":"2023-11-14T22:13:20Z","d":"2024-02-29","n":"1.50","l":[[1],[]],"o":{"p":1,"q":[{"r":"x"}]}}`),
		[]byte(`{"l":[[1],[2,"x"]],"o":{"p":true}}`))
	f.Add([]byte(`{"n":1e5,"t":"2023-11-14 22:13","o":null}`), []byte(`{"o":{"q":[{"r":1},{"r":}]}}`))
	int16t, str := arrow.PrimitiveTypes.Int16, arrow.BinaryTypes.String
	fields := []arrow.Field{
		{Name: "i", Type: int16t}, {Name: "u", Type: arrow.PrimitiveTypes.Uint64}, {Name: "s", Type: str},
		{Name: "y", Type: arrow.BinaryTypes.Binary}, {Name: "t", Type: arrow.FixedWidthTypes.Timestamp_us},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32}, {Name: "n", Type: &arrow.Decimal128Type{Precision: 20, Scale: 2}},
		{Name: "l", Type: arrow.ListOf(arrow.ListOf(int16t))},
		{Name: "o", Type: arrow.StructOf(arrow.Field{Name: "p", Type: int16t, Nullable: true},
			arrow.Field{Name: "q", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "r", Type: str, Nullable: true})), Nullable: true})},
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		schema := arrow.NewSchema(fields, nil)
		d, err := newDecoder(mem, Options{Extra: ExtraColumn}.withDefaults(), &pinned{fields: fields, schema: schema}, schema, 10, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer d.release()
		c := lines.New(mem, 1<<20)
		defer c.Release()
		data := bytes.Join([][]byte{one, two, one}, []byte{'\n'})
		c.Open(bytes.NewReader(data), 0, uint64(len(data)))
		rows := 0
		for {
			from, to, err := c.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			d.buf = c.Buf
			for i := from; i < to; {
				next, row := d.line(i)
				if next < 0 {
					_ = d.lineError(i).Error()
					next = d.lineEnd(i)
				}
				if row {
					rows++
					d.place(&block.File{}, "", c.Base+uint64(i))
				}
				i = next
			}
		}
		b := d.take()
		defer b.Release()
		if b.NumRows() != rows {
			t.Fatalf("%d rows, want %d", b.NumRows(), rows)
		}
		for i := range b.NumCols() {
			if err := array.ValidateFull(b.Column(i)); err != nil {
				t.Fatalf("column %d: %v", i, err)
			}
		}
	})
}
