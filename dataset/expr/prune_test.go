package expr

import (
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// docSchema has the columns that examples of functions use.
var docSchema = func() *arrow.Schema {
	var fields []arrow.Field
	for typ, names := range map[arrow.DataType][]string{
		arrow.BinaryTypes.String:           {"text", "lang", "code", "title", "url", "path", "id", "host", "year_text", "price", "flag"},
		arrow.PrimitiveTypes.Float64:       {"x", "y", "score"},
		arrow.PrimitiveTypes.Int64:         {"width", "height"},
		arrow.FixedWidthTypes.Timestamp_us: {"created", "started", "ended"},
	} {
		for _, n := range names {
			fields = append(fields, arrow.Field{Name: n, Type: typ})
		}
	}
	return arrow.NewSchema(fields, nil)
}()

func TestMayMatch(t *testing.T) {
	day := func(s string) time.Time {
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	stats := map[string]ColumnStats{
		"i":    {Min: int64(10), Max: int64(20), NullCount: 0, Rows: 5},
		"u":    {Min: uint64(1 << 63), Max: uint64(math.MaxUint64), NullCount: -1, Rows: -1},
		"f":    {Min: 0.1, Max: 0.8, NullCount: 1, Rows: 5},
		"g":    {Min: 0.1, Max: 0.8, NullCount: 1, Rows: 5, NoNaN: true},
		"s":    {Min: "b", Max: "d", NullCount: 0, Rows: 5},
		"null": {NullCount: 5, Rows: 5},
		"one":  {Min: int64(7), Max: int64(7), Rows: 5},
		"ok":   {Min: false, Max: false, Rows: 5},
		"t":    {Min: day("2024-01-01"), Max: day("2024-02-01"), Rows: 5},
		"bad":  {Min: int64(5), Max: int64(1), Rows: 5},
		"nan":  {Min: math.NaN(), Max: math.NaN(), Rows: 5},
	}
	for src, want := range map[string]bool{
		`i > 20`: false, `i >= 20`: true, `i < 10`: false, `i <= 10`: true, `i == 15`: true, `i == 21`: false, `i == 15.5`: true, `30 < i`: false, `i != 15`: true,
		`not (i <= 20)`: false, `not (i > 5)`: false, `i > 20 or s == "c"`: true, `i > 20 or s == "x"`: false, `i > 15 and s == "x"`: false,
		`u > 5`: true, `u < 9223372036854775808`: false, `u < 9223372036854775809`: true,
		`f > 0.9`: true, `g > 0.9`: false, `g >= 0.8`: true, `f == 0.9`: false, `f < 0.1`: false, `f == float("nan")`: true,
		`s == "a"`: false, `starts_with(s, "c")`: true, `starts_with(s, "e")`: false, `starts_with(s, "a")`: false, `s in ["x", "y"]`: false, `s in ["x", "c"]`: true,
		`null == nil`: true, `null != nil`: false, `null > 3`: false, `not (null > 3)`: false, `i == nil`: false, `i != nil`: true,
		`one != 7`: false, `one == 7`: true, `ok`: false, `not ok`: true, `ok == false`: true,
		`t > timestamp("2024-02-01")`: false, `t >= timestamp("2024-02-01T00:00:00Z")`: true, `t == date("2023-12-31")`: false,
		`bad == 3`: true, `nan > 5`: true, `unknown > 3`: true, `i + 1 > 100`: true, `s > 5`: true, `false`: false, `nil`: false, `true`: true, `i > 20 ? true : false`: true,
		`i not in [10]`: true,
	} {
		got := mustParse(t, src).MayMatch(func(c string) (ColumnStats, bool) { s, ok := stats[c]; return s, ok })
		if got != want {
			t.Errorf("%s: may match %v, want %v", src, got, want)
		}
	}
}
