package expr

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batch builds a record from JSON rows; the test releases it through the checked allocator.
func batch(t testing.TB, mem memory.Allocator, schema *arrow.Schema, json string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

var sampleSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "small", Type: arrow.PrimitiveTypes.Int8},
	{Name: "big", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "score", Type: arrow.PrimitiveTypes.Float64},
	{Name: "lang", Type: arrow.BinaryTypes.String},
	{Name: "ok", Type: arrow.FixedWidthTypes.Boolean},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String)},
	{Name: "meta", Type: arrow.StructOf(arrow.Field{Name: "w", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "odd name", Type: arrow.BinaryTypes.String})},
	{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32},
	{Name: "price", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}},
	{Name: "a b", Type: arrow.PrimitiveTypes.Int32},
}, nil)

const sampleRows = `[
 {"id": 1, "small": 5, "big": 18446744073709551615, "score": 0.95, "lang": "de", "ok": true, "tags": ["x", "y"], "meta": {"w": 640, "odd name": "n"}, "at": "2024-03-31T12:30:45Z", "day": "2024-02-29", "price": "9.99", "a b": 7},
 {"id": 2, "small": -3, "big": 0, "score": 0.5, "lang": "Grüße", "ok": false, "tags": [], "meta": {"w": null, "odd name": "m"}, "at": "1969-12-31T23:59:59.999Z", "day": "1969-12-31", "price": "-0.01", "a b": 8},
 {"id": null, "small": null, "big": null, "score": null, "lang": null, "ok": null, "tags": null, "meta": null, "at": null, "day": null, "price": null, "a b": null},
 {"id": 9223372036854775807, "small": 0, "big": 7, "score": 1e300, "lang": "12", "ok": true, "tags": ["z", null], "meta": {"w": 1, "odd name": null}, "at": "2024-01-01T00:00:00Z", "day": "2024-01-01", "price": "100.00", "a b": 0}
]`

// render writes a result as text, one row after the other; E marks failed rows.
func render(arr arrow.Array, errs []RowError) string {
	failed := map[int]bool{}
	for _, e := range errs {
		failed[e.Row] = true
	}
	out := make([]string, arr.Len())
	for i := range out {
		switch {
		case failed[i]:
			out[i] = "E"
		case arr.IsNull(i):
			out[i] = "_"
		default:
			out[i] = arr.ValueStr(i)
		}
	}
	return strings.Join(out, " ")
}

func TestEval(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{`score > 0.9 and lang == "de"`, "true false _ false"},
		{`id + 1`, "2 3 _ E"},
		{`id * 2 > 3`, "false true _ E"},
		{`score / 0`, "_ _ _ _"},
		{`id / 2`, "0.5 1 _ 4.611686018427388e+18"},
		{`id % 2`, "1 0 _ 1"},
		{`big > 9007199254740993.0`, "true false _ false"},
		{`big == 18446744073709551615`, "true false _ false"},
		{`big - 1`, "18446744073709551614 E _ 6"},
		{`id == nil ? -1 : id % 10`, "1 2 -1 7"},
		{`score ?? 0.0`, "0.95 0.5 0 1e+300"},
		{`length(lang)`, "2 5 _ 2"},
		{`int(lang)`, "E E _ 12"},
		{`try_cast(lang, "int")`, "_ _ _ 12"},
		{`lang matches "^[0-9]+$" ? int(lang) : 0`, "0 0 0 12"},
		{`lang matches "^[0-9]+$" and int(lang) > 3`, "false false _ true"},
		{`upper(lang)`, "DE GRÜßE _ 12"},
		{`tags[0]`, "x _ _ z"},
		{`tags[-1]`, "y _ _ _"},
		{`"x" in tags`, "true false _ _"},
		{`len(tags)`, "2 0 _ 2"},
		{`meta.w > 100`, "true _ _ false"},
		{`meta["odd name"]`, "n m _ _"},
		{`col("a b") in [7, 8.5, 0]`, "true false _ true"},
		{`id in [1, nil]`, "true _ _ _"},
		{`small < 200`, "true true _ true"},
		{`small > -3.5`, "true true _ true"},
		{`year(at)`, "2024 1970 _ 2024"},
		{`hour(at)`, "14 0 _ 1"},
		{`string(date_trunc("day", at))`, "2024-03-31T00:00:00+01:00 1970-01-01T00:00:00+01:00 _ 2024-01-01T00:00:00+01:00"},
		{`at >= timestamp("2024-01-01")`, "true false _ true"},
		{`at - timestamp("2024-03-31T12:30:45Z") == duration("0s")`, "true false _ false"},
		{`day + duration("1d") == timestamp("2024-03-01")`, "true false _ false"},
		{`price == 9.99`, "true false _ false"},
		{`price >= 100`, "false false _ true"},
		{`string(price)`, "9.99 -0.01 _ 100.00"},
		{`hash(lang) == hash("de")`, "true false _ false"},
		{`min(id, 3)`, "1 2 _ 3"},
		{`max(score, 1)`, "1 1 _ 1e+300"},
		{`split(lang, "e")[0]`, "d Grüß _ 12"},
		{`substr(lang, 1, 2)`, "e rü _ 2"},
		{`lang contains "r"`, "false true _ false"},
		{`not contains(lang, "r")`, "true false _ true"},
		{`regex_extract(lang, "(d)e")`, "d _ _ _"},
		{`not ok`, "false true _ false"},
		{`ok or id > 1`, "true true _ true"},
		{`nil`, "(null) (null) (null) (null)"},
		{`5`, "5 5 5 5"},
		{`-9223372036854775808 < id`, "true true _ true"},
		{`0 < small < 10`, "true false _ false"},
		{`concat(lang, "-", string(id))`, "de-1 Grüße-2 _ 12-9223372036854775807"},
		{`cast(id, "int8")`, "1 2 _ E"},
		{`round(score * 10) `, "10 5 _ 1e+301"},
		{`floor(7.9) == 7`, "true true true true"},
		{`weekday(day)`, "4 3 _ 1"},
		{`lower("ABC") + lang`, "abcde abcGrüße _ abc12"},
		{`(ok ? tags : nil)[0]`, "x _ _ z"},
		{`ok ? tags : split(lang, "ü")`, `["x","y"] ["Gr","ße"] _ ["z",null]`},
		{`(tags ?? split("a,b", ","))[1]`, "y _ b _"},
		{`(ok ? meta : nil).w`, "640 _ _ 1"},
		{`(ok ? price : nil) > 10`, "false _ _ true"},
		{`ok ? price : nil`, "9.99 _ _ 100"},
		{`[1][0] == 1`, ""},
	} {
		t.Run(c.expr, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			rec := batch(t, mem, sampleSchema, sampleRows)
			defer rec.Release()
			e, err := Parse(c.expr)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Compile(e, sampleSchema)
			if c.want == "" && err != nil {
				return // refused
			}
			if err != nil {
				t.Fatal(err)
			}
			arr, errs, err := p.Eval(mem, rec)
			if err != nil {
				t.Fatal(err)
			}
			defer arr.Release()
			if got := render(arr, errs); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", e, got, c.want)
			}
			if !arrow.TypeEqual(arr.DataType(), p.Type()) {
				t.Errorf("type is %s, Type says %s", arr.DataType(), p.Type())
			}
			again, err := Parse(e.String())
			if err != nil || again.String() != e.String() {
				t.Errorf("canonical form %q does not parse to itself: %v, %v", e, again, err)
			}
		})
	}
}
