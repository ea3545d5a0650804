package jsonl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
)

func TestInfer(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		opt  jsonl.Options
		want string // fields as "name: type", or the words of the error
		err  string
	}{
		{"types", `{"i":1,"f":1.5,"s":"x","b":true,"o":{"p":1},"l":[1],"n":null}`, jsonl.Options{},
			"i: int64, f: float64, s: utf8, b: bool, o: struct<p: int64 nullable>, l: list<item: int64, nullable>, n: utf8", ""},
		{"int and float", "{\"x\":1}\n{\"x\":2.5}", jsonl.Options{}, "x: float64", ""},
		{"whole float", `{"x":1.0}`, jsonl.Options{}, "x: float64", ""},
		{"strings stay", `{"t":"2023-11-14","n":"12"}`, jsonl.Options{}, "t: utf8, n: utf8", ""},
		{"past int64", `{"x":18446744073709551615}`, jsonl.Options{}, "x: uint64", ""},
		{"past uint64", `{"x":18446744073709551616}`, jsonl.Options{}, "x: float64", ""},
		{"big and negative", "{\"x\":18446744073709551615}\n{\"x\":-1}", jsonl.Options{}, "x: float64", ""},
		{"keys in order of appearance", "{\"b\":1}\n{\"a\":1,\"b\":2}", jsonl.Options{}, "b: int64, a: int64", ""},
		{"empty list", `{"l":[]}`, jsonl.Options{}, "l: list<item: utf8, nullable>", ""},
		{"merged objects", "{\"o\":{\"a\":1}}\n{\"o\":{\"b\":\"x\"}}\n{\"o\":null}", jsonl.Options{}, "o: struct<a: int64 nullable, b: utf8 nullable>", ""},
		{"mixed", "{\"x\":1}\n{\"x\":\"a\"}", jsonl.Options{}, "", `column "x" is a whole number in * line 1 (1) and a string in * line 2 ("a"); pass schema="x:string", or mixed=string`},
		{"mixed nested", `{"o":[{"x":1},{"x":[]}]}`, jsonl.Options{}, "", `column "o[].x"`},
		{"mixed as string", "{\"x\":1}\n{\"x\":\"a\"}", jsonl.Options{Mixed: jsonl.MixedString}, "x: utf8", ""},
		{"broken lines do not count", "{\"x\":1}\n{\"x\":}\n{\"y\":2}", jsonl.Options{}, "x: int64, y: int64", ""},
		{"only broken lines", "a,b\n1,2\n", jsonl.Options{}, "", "no line of the sample is a JSON object; *: line 1, byte 1"},
		{"empty", "", jsonl.Options{}, "", ""},
		{"override", `{"id":1,"o":{"t":"x"},"l":[1]}`, jsonl.Options{Schema: "id:int8, o.t:timestamp[s], l[]:float32, late:bool"},
			"id: int8, o: struct<t: timestamp[s, tz=UTC] nullable>, l: list<item: float32, nullable>, late: bool", ""},
		{"override of a mixed key", "{\"x\":1}\n{\"x\":\"a\"}", jsonl.Options{Schema: "x:string"}, "x: utf8", ""},
		{"override inside a scalar", `{"x":1}`, jsonl.Options{Schema: "x.y:int8"}, "", `"x.y" means a key of an object`},
		{"with path", `{"x":1}`, jsonl.Options{WithPath: true}, "x: int64, path: utf8", ""},
		{"path clash", `{"path":1}`, jsonl.Options{WithPath: true}, "", `with_path adds the column "path"`},
		{"extra column", `{"x":1}`, jsonl.Options{Extra: jsonl.ExtraColumn}, "x: int64, _extra: utf8", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"in.jsonl": c.text})
			schema, err := open(t, file.Local{}, dir, c.opt, 0).Schema(t.Context())
			if c.err != "" {
				if err == nil {
					t.Fatalf("no error, want %q", c.err)
				}
				for part := range strings.SplitSeq(c.err, "*") {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error %q lacks %q", err, part)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range schema.Fields() {
				if !f.Nullable || f.HasMetadata() {
					t.Errorf("column %s: nullable %v, metadata %v", f.Name, f.Nullable, f.Metadata)
				}
				got = append(got, f.Name+": "+f.Type.String())
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

// TestInferSample: at most 1 MiB of at most 8 files is looked at, and a first line longer than that is read whole.
func TestInferSample(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 10 {
		files[fmt.Sprintf("%d.jsonl", i)] = fmt.Sprintf("{\"k%d\":1}\n", i)
	}
	files["3.jsonl"] = "{\"k3\":\"" + strings.Repeat("x", 3<<20) + "\"}\n"
	files["4.jsonl"] = strings.Repeat("{\"k4\":1}\n", 200_000) + "{\"late\":1}\n"
	write(t, dir, files)
	schema, err := open(t, file.Local{}, dir, jsonl.Options{}, 0).Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := schema.NumFields(); n != 8 || schema.HasField("late") || schema.HasField("k8") || !schema.HasField("k3") {
		t.Fatalf("got %s", schema)
	}
}

// TestExtraKeys: unseen keys are counted and named, or collected.
func TestExtraKeys(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"in.jsonl": `{"x":1,"o":{"a":1}}` + "\n"})
	probe := open(t, file.Local{}, dir, jsonl.Options{}, 0)
	if _, err := probe.Schema(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"in.jsonl": `{"x":1,"o":{"a":1,"in":2}}` + "\n" + `{"new":[1, {"k": "v"}],"x":2}` + "\n" + `{"new": null}` + "\n"})
	rt := connectortest.NewRuntime(t)
	if rows := connectortest.ReadAll(t, open(t, file.Local{}, dir, jsonl.Options{}, 0).Pinned(probe), rt); len(rows) != 3 {
		t.Fatalf("rows %v", rows)
	}
	text := strings.Join(rt.Warnings(), "\n")
	for _, want := range []string{`"new" in 2 rows of`, `"o.in" in 1 rows of`, "in.jsonl", "extra=column"} {
		if !strings.Contains(text, want) {
			t.Errorf("warnings %q lack %q", text, want)
		}
	}
	write(t, dir, map[string]string{"one.jsonl": `{"x":1}` + "\n"})
	if err := os.Rename(filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "two.jsonl")); err != nil {
		t.Fatal(err)
	}
	small := open(t, file.Local{}, dir+"/one.jsonl", jsonl.Options{Extra: jsonl.ExtraColumn}, 0)
	if _, err := small.Schema(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := connectortest.ReadAll(t, open(t, file.Local{}, dir+"/two.jsonl", jsonl.Options{Extra: jsonl.ExtraColumn}, 0).Pinned(small), connectortest.NewRuntime(t))
	want := []string{"x=\"1\"\n_extra=\"{\\\"o\\\":{\\\"a\\\":1,\\\"in\\\":2}}\"\n", "x=\"2\"\n_extra=\"{\\\"new\\\":[1, {\\\"k\\\": \\\"v\\\"}]}\"\n", "x=null\n_extra=\"{\\\"new\\\":null}\"\n"}
	for i, w := range want {
		if rows[i].Values != w {
			t.Errorf("row %d: %q, want %q", i, rows[i].Values, w)
		}
	}
}

// TestTyped reads every type that the schema option offers.
func TestTyped(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"in.jsonl": `{"i8":-128,"u16":65535,"f":0.1,"ls":"x","bin":"AP8=","day":"2024-02-29","ts":"2023-11-14 22:13:20.123456","z":"2023-11-14T22:13:20+02:00","dec":"1234.50","num":-0.05,"any":{"k": [1]},"whole":3e2,"list":[[1],[],null]}` + "\n"})
	opt := jsonl.Options{Schema: `i8:int8, u16:uint16, f:float32, ls:large_string, bin:binary, day:date, ts:timestamp[us], z:timestamp[s], dec:decimal(10,2), num:decimal(5,2), any:string, whole:int32, list:list<list<int8>>`}
	rows := connectortest.ReadAll(t, open(t, file.Local{}, dir, opt, 0), connectortest.NewRuntime(t))
	for _, want := range []string{`i8="-128"`, `u16="65535"`, `f="0.1"`, `ls="x"`, `bin="AP8="`, `day="2024-02-29"`, `ts="2023-11-14T22:13:20.123456Z"`,
		`z="2023-11-14T20:13:20Z"`, `dec="1234.5`, `num="-0.05"`, `any="{\"k\": [1]}"`, `whole="300"`, `list="[[1],[],null]"`} {
		if !strings.Contains(rows[0].Values, want) {
			t.Errorf("%s lacks %s", rows[0].Values, want)
		}
	}
	for value, why := range map[string]string{
		`{"i8":128}`: "out of range", `{"u16":-1}`: "out of range", `{"f":1e39}`: "out of range", `{"bin":"*"}`: "not base64", `{"day":"2023-02-29"}`: "not a date",
		`{"ts":"2023-11-14T22:13:20.1234567"}`: "finer than the column's unit", `{"ts":"yesterday"}`: "RFC 3339", `{"dec":"1.234"}`: "more digits after the point",
		`{"dec":123456789012}`: "out of range", `{"dec":"x"}`: "not a decimal", `{"whole":3.5}`: "not a whole number", `{"list":[[300]]}`: `column "list[0][0]"`,
	} {
		write(t, dir, map[string]string{"in.jsonl": value + "\n"})
		rt := connectortest.NewRuntime(t)
		connectortest.ReadAll(t, open(t, file.Local{}, dir, opt, 0), rt)
		if f := rt.Failures(); len(f) != 1 || !strings.Contains(f[0].Err.Error(), why) {
			t.Errorf("%s: %v, want %q", value, f, why)
		}
	}
}

func TestOptions(t *testing.T) {
	for want, opt := range map[string]jsonl.Options{
		"max_line=1B: must be between 1KiB and 512MiB": {MaxLine: 1}, "max_depth=-1: must be between 1 and 10000": {MaxDepth: -1},
		"extra=all: must be error, ignore or column": {Extra: "all"}, "invalid=x: must be error or replace": {Invalid: "x"},
		"mixed=x: must be error or string": {Mixed: "x"}, "unknown type": {Schema: "a:b"},
	} {
		if _, err := jsonl.NewSource(file.NewSet(file.Local{}, nil), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", opt, err, want)
		}
	}
}

// TestReplace reads what is not Unicode as U+FFFD.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"in.jsonl": "{\"x\":\"a\xffb\"}\n{\"x\":\"\\ud800!\"}\n"})
	rows := connectortest.ReadAll(t, open(t, file.Local{}, dir, jsonl.Options{Invalid: jsonl.InvalidReplace}, 0), connectortest.NewRuntime(t))
	if len(rows) != 2 || rows[0].Values != "x=\"a\ufffdb\"\n" || rows[1].Values != "x=\"\ufffd!\"\n" {
		t.Fatalf("got %v", rows)
	}
}
