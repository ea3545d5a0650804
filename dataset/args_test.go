package dataset

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

type resizeParams struct {
	Size    string  `json:"size" arg:"word" doc:"WxH"`
	Mode    string  `json:"mode" arg:"word" doc:"exact, fit or fill"`
	Quality int     `json:"quality" doc:"1 to 100"`
	Gamma   float64 `json:"gamma,omitempty"`
	hidden  int
	Skipped int `json:"-"`
}

type whereParams struct {
	Expr string `json:"expr" arg:"rest"`
	Keep bool   `json:"keep"`
}

type selectParams struct {
	Columns []string `json:"columns" arg:"list"`
	Strict  bool     `json:"strict"`
}

type common struct {
	In string `json:"in"`
}

type manyParams struct {
	common
	Common2 `json:"nested"`
	Kind    string            `json:"kind" arg:"word"`
	Rest    []int             `json:"rest" arg:"word"`
	Wait    time.Duration     `json:"wait"`
	Size    ByteSize          `json:"size"`
	Bytes   int64             `json:"bytes"`
	By      []string          `json:"by"`
	Types   map[string]string `json:"types"`
	Small   int8              `json:"small"`
	Count   uint16            `json:"count"`
	Opt     *int              `json:"opt"`
	Raw     []byte            `json:"raw"`
	MaxRows int
	Raws    json.RawMessage `json:"raws"`
}

// Common2 is exported so that reflection may set it.
type Common2 struct {
	Out string `json:"out"`
}

func TestParseArgs(t *testing.T) {
	tests := []struct {
		text string
		in   any
		want any
	}{
		{"224x224", &resizeParams{Mode: "exact"}, &resizeParams{Size: "224x224", Mode: "exact"}},
		{" 224x224\tfit  quality=3 ", &resizeParams{}, &resizeParams{Size: "224x224", Mode: "fit", Quality: 3}},
		{"quality=7 size=1x1", &resizeParams{}, &resizeParams{Size: "1x1", Quality: 7}},
		{`"a b" 'c\'d' gamma=2.5e-1`, &resizeParams{}, &resizeParams{Size: "a b", Mode: "c'd", Gamma: .25}},
		{"", &resizeParams{Size: "x"}, &resizeParams{Size: "x"}},
		{`width >= 256 and name == "a|b"`, &whereParams{}, &whereParams{Expr: `width >= 256 and name == "a|b"`}},
		{`keep=true x == 1`, &whereParams{}, &whereParams{Expr: "x == 1", Keep: true}},
		{`keep==true`, &whereParams{}, &whereParams{Expr: "keep==true"}},
		{`"quoted" == x`, &whereParams{}, &whereParams{Expr: `"quoted" == x`}},
		{`f("x`, &whereParams{}, &whereParams{Expr: `f("x`}},
		{`expr="a b"`, &whereParams{}, &whereParams{Expr: "a b"}},
		{`a=1`, &whereParams{}, &whereParams{Expr: "a=1"}},
		{"a, b ,c", &selectParams{}, &selectParams{Columns: []string{"a", "b", "c"}}},
		{`"a,b", f(c, d) desc, "e" desc strict=yes`, &selectParams{},
			&selectParams{Columns: []string{"a,b", "f(c, d) desc", `"e" desc`}, Strict: true}},
		{`columns=a,b`, &selectParams{}, &selectParams{Columns: []string{"a", "b"}}},
	}
	for _, tt := range tests {
		if err := ParseArgs(tt.text, tt.in); err != nil {
			t.Errorf("%s: %v", tt.text, err)
		} else if !reflect.DeepEqual(tt.in, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.text, tt.in, tt.want)
		}
	}
}

func TestParseArgsKinds(t *testing.T) {
	var p manyParams
	text := `k 1 2 wait=1m30s size=1.5KiB bytes=2MB by=a,"b,c" types=x:int,y:"a b" small=-128 count=65_535 opt=5 raw='x y' max-rows=3 3`
	if err := ParseArgs(text, &p); err != nil {
		t.Fatal(err)
	}
	five := 5
	want := manyParams{Kind: "k", Rest: []int{1, 2, 3}, Wait: 90 * time.Second, Size: 1536, Bytes: 2_000_000, By: []string{"a", "b,c"},
		Types: map[string]string{"x": "int", "y": "a b"}, Small: -128, Count: 65535, Opt: &five, Raw: []byte("x y"), MaxRows: 3}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

func TestParseArgsErrors(t *testing.T) {
	tests := []struct {
		text   string
		params any
		offset int
		want   string
	}{
		{"1x1 fit extra", &resizeParams{}, 8, "unexpected extra: it takes size, mode and the options quality=, gamma="},
		{"1x1 qualty=3", &resizeParams{}, 4, `unknown option "qualty" (did you mean "quality"?)`},
		{"1x1 zzzzzz=3", &resizeParams{}, 4, "there are size, mode, quality, gamma"},
		{"1x1 quality=abc", &resizeParams{}, 12, `quality: "abc" is no whole number`},
		{"1x1 quality=1 quality=2", &resizeParams{}, 14, "quality is given twice"},
		{"1x1 size=2x2", &resizeParams{}, 4, "size is given twice"},
		{`1x1 "fit`, &resizeParams{}, 4, "is not closed"},
		{`1x1 "fit"x`, &resizeParams{}, 9, "text after the closing quote"},
		{`1x1 (fit`, &resizeParams{}, 4, "is not closed"},
		{`1x1 fit]`, &resizeParams{}, 7, "closes nothing"},
		{`1x1 fit gamma = 3`, &resizeParams{}, 8, "unexpected gamma"},
		{`1x1 fit = 3`, &resizeParams{}, 8, "without spaces around the = sign"},
		{`x gamma=nope`, &resizeParams{}, 8, `"nope" is no number`},
		{"a,,b", &selectParams{}, 2, "an item is missing"},
		{"a, ", &selectParams{}, 3, "an item is missing"},
		{"a, strict=1", &selectParams{}, 3, "an item is missing"},
		{"a strict=1, b", &selectParams{}, 2, "options follow the last item"},
		{"a, b strict=1 c", &selectParams{}, 14, "options follow the last item"},
		{"a strct=1", &selectParams{}, 2, `did you mean "strict"`},
		{"a strict=maybe", &selectParams{}, 9, "neither true nor false"},
		{"k 1 x", &manyParams{}, 4, `"x" is no whole number`},
		{"k wait=3", &manyParams{}, 7, "write it with a unit"},
		{"k size=3parsecs", &manyParams{}, 7, "256MiB"},
		{"k small=200", &manyParams{}, 8, "from -128 to 127"},
		{"k count=-1", &manyParams{}, 8, "from 0 to 65535"},
		{"k types=abc", &manyParams{}, 8, "key:value"},
		{`k by=a,"b`, &manyParams{}, 7, "is not closed"},
		{`k raw="\xzz"`, &manyParams{}, 7, "hexadecimal"},
	}
	for _, tt := range tests {
		err := ParseArgs(tt.text, tt.params)
		se, ok := errors.AsType[*SyntaxError](err)
		if !ok {
			t.Errorf("%s: error %v is no SyntaxError", tt.text, err)
			continue
		}
		if se.Offset != tt.offset || !strings.Contains(se.Msg, tt.want) {
			t.Errorf("%s:\n got %d %s\nwant %d … %s", tt.text, se.Offset, se.Msg, tt.offset, tt.want)
		}
	}
	for _, bad := range []any{nil, resizeParams{}, new(int), (*resizeParams)(nil)} {
		if err := ParseArgs("x", bad); err == nil || !strings.Contains(err.Error(), "want a pointer to a struct") {
			t.Errorf("ParseArgs into %T: %v", bad, err)
		}
	}
}

func TestParamsFromMap(t *testing.T) {
	var p manyParams
	err := ParamsFromMap(map[string]any{
		"kind": "k", "rest": []any{1, "2", 3.0}, "wait": "2s", "size": "1MiB", "bytes": 7, "by": "a, b", "types": map[string]any{"a": "int"},
		"small": nil, "opt": uint64(5), "nested": map[string]any{"out": "o"}, "max_rows": json.Number("3"), "raws": map[string]any{"a": 1},
	}, &p)
	if err != nil {
		t.Fatal(err)
	}
	five := 5
	want := manyParams{Kind: "k", Rest: []int{1, 2, 3}, Wait: 2 * time.Second, Size: 1 << 20, Bytes: 7, By: []string{"a", "b"},
		Types: map[string]string{"a": "int"}, Opt: &five, Common2: Common2{Out: "o"}, MaxRows: 3, Raws: json.RawMessage(`{"a":1}`)}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

func TestParamsFromMapErrors(t *testing.T) {
	tests := []struct {
		m    map[string]any
		want string
	}{
		{map[string]any{"knd": 1}, `knd: unknown option (did you mean "kind"?)`},
		{map[string]any{"rest": []any{1, "x"}}, `rest.2: "x" is no whole number`},
		{map[string]any{"nested": map[string]any{"ot": "x"}}, `nested.ot: unknown option (did you mean "out"?)`},
		{map[string]any{"kind": map[string]any{}}, "kind: a mapping is given, want text"},
		{map[string]any{"small": []any{}}, "small: a list is given, want whole number"},
		{map[string]any{"small": 1.5}, `small: "1.5" is no whole number`},
		{map[string]any{"small": struct{}{}}, "small: a value of type struct {} is not understood"},
		{map[string]any{"rest": []any{nil}}, "rest: item 1 is null"},
		{map[string]any{"max-rows": 1, "max_rows": 2}, "given twice"},
	}
	for _, tt := range tests {
		err := ParamsFromMap(tt.m, &manyParams{})
		if _, ok := errors.AsType[*ParamError](err); !ok || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %s", tt.m, err, tt.want)
		}
	}
}

func TestSetOption(t *testing.T) {
	var p resizeParams
	if err := SetOption(&p, "mode", `"a b"`); err != nil || p.Mode != "a b" {
		t.Errorf("mode %q, %v", p.Mode, err)
	}
	if err := SetOption(&p, "mod", `x`); err == nil || !strings.Contains(err.Error(), `did you mean "mode"`) {
		t.Errorf("unknown option: %v", err)
	}
}

func TestDescribeParams(t *testing.T) {
	d := DescribeParams(&manyParams{Size: 64 << 20, By: []string{"a", "b"}, Wait: time.Minute})
	got := map[string]string{}
	for _, p := range d {
		got[p.Name] = p.Type + "|" + p.Default
	}
	want := map[string]string{"in": "text|", "nested": "mapping|", "kind": "text|", "rest": "list of whole number|", "wait": "duration|1m0s",
		"size": "size|64MiB", "bytes": "whole number|", "by": "list of text|a,b", "types": "mapping|", "small": "whole number|",
		"count": "whole number|", "opt": "whole number|", "raw": "text|", "max_rows": "whole number|", "raws": "text|"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := UsageLine("resize", &resizeParams{Mode: "exact"}); got != "resize SIZE [MODE] [quality=…] [gamma=…]" {
		t.Errorf("usage %q", got)
	}
	if DescribeParams(3) != nil {
		t.Error("an int has parameters")
	}
}

func TestByteSizeReadsBack(t *testing.T) {
	for _, b := range []ByteSize{0, 1, 1000, 1024, 1536, 1 << 20, 3 << 30, 1<<40 + 1} {
		if got, err := ParseByteSize(b.String()); err != nil || got != b {
			t.Errorf("%d: %s reads as %d, %v", b, b, got, err)
		}
	}
	for _, bad := range []string{"", "MiB", "-1B", "1e30GB", "NaN", "Inf", "5 potatoes"} {
		if v, err := ParseByteSize(bad); err == nil {
			t.Errorf("%q reads as %d", bad, v)
		}
	}
}

func TestQuoteReadsBack(t *testing.T) {
	for _, s := range []string{"", "a b", `a"b\c`, "\n\t\r\x00\x7f\xff", "héé|", `\d+\`, "`'"} {
		q := Quote(s)
		got, end, err := ScanQuoted(q, 0)
		if err != nil || got != s || end != len(q) {
			t.Errorf("%q: %s reads as %q to %d, %v", s, q, got, end, err)
		}
	}
}

func FuzzParseArgs(f *testing.F) {
	for _, s := range []string{`a "b c" d=1`, "a, b strict=1", `x=(1, [2]) 'y'`, `"\u00e9\x41"`, "by=a,\"b,c\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range []any{&resizeParams{}, &whereParams{}, &selectParams{}, &manyParams{}} {
			err := ParseArgs(s, p)
			if se, ok := errors.AsType[*SyntaxError](err); err != nil && (!ok || se.Offset < 0 || se.Offset > len(s)) {
				t.Errorf("%q into %T: %v has no place in the text", s, p, err)
			}
		}
	})
}
