package jsonl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
)

// jsonSource is a source of one file named in.json that holds text.
func jsonSource(tb testing.TB, fs file.FS, text string, opt jsonl.Options) *jsonl.Source {
	tb.Helper()
	p := filepath.Join(tb.TempDir(), "in.json")
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	s, err := jsonl.NewSource(file.NewSet(fs, []dataset.Pattern{{Text: p}}), opt)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestJSONForms reads files named .json, whatever their form.
func TestJSONForms(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"array", `[{"a":1},{"a":2}]`, "1 2"},
		{"array over lines", "\xef\xbb\xbf[\n  {\n    \"a\": 1\n  },\r\n  {\"a\": 2\n  }\n]\n", "1 2"},
		{"brackets in strings", `[{"a":1,"b":"]},{\"[\\"},{"a":2,"b":"x"}]`, "1 2"},
		{"empty array", " [ ] \n", ""},
		{"nothing", " \n", ""},
		{"lines", "{\"a\":1}\n\n{\"a\":2}\n", "1 2"},
		{"one object", `{"a":1}`, "1"},
		{"one object over lines", "{\n\t\"a\": 1\n}", "1"},
		{"objects over lines", "{\n\"a\": 1\n}\n{\"a\":2}\n{\n\"a\":\n3}\n", "1 2 3"},
		{"objects on one line", "{\n\"a\": 1\n}\n{\"a\":2} {\"a\":3}\n", "1 2 3"},
		{"lines, the first broken", "{\"a\":1\n{\"a\":2}\n", "!2"},
		{"elements that are no objects", `[1, {"a":2}, "x", [3], {"a":3}]`, "!2!!3"},
		{"no comma", `[{"a":1} {"a":2}]`, "1!"},
		{"two commas", `[{"a":1},,{"a":2}]`, "1!"},
		{"comma at the end", `[{"a":1},]`, "1!"},
		{"more behind", `[{"a":1}] {"a":2}`, "1!"},
		{"not closed", `[{"a":1}, {"a":2}`, "1!"},
		{"ends inside an element", `[{"a":1}, {"a":`, "1!"},
		{"newline in a string", "[{\"a\":1,\"b\":\"x\ny\"}, {\"a\":2}]", "!2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rt := connectortest.NewRuntime(t)
			src := jsonSource(t, file.Local{}, c.text, jsonl.Options{Schema: "a:int64"})
			type at struct {
				pos  uint64
				text string
			}
			var all []at
			for _, r := range connectortest.ReadAll(t, src, rt) {
				v := strings.Split(strings.TrimPrefix(r.Values, `a="`), `"`)[0]
				all = append(all, at{r.Position, v})
				if c := c.text[r.Position]; c != '{' {
					t.Errorf("a row begins at %d, with %q", r.Position, c)
				}
			}
			for _, f := range rt.Failures() {
				all = append(all, at{f.Position, "!"})
			}
			slices.SortFunc(all, func(x, y at) int { return int(x.pos) - int(y.pos) })
			got := ""
			for i, x := range all {
				if i > 0 && x.text != "!" && all[i-1].text != "!" {
					got += " "
				}
				got += x.text
			}
			if got != c.want {
				t.Errorf("got %s, want %s; %v", got, c.want, rt.Failures())
			}
		})
	}
}

// TestArrayErrors names the element, the byte and the remedy.
func TestArrayErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`[{"a":1}, {"a":"x"}]`, `element 2, byte 6, column "a": "x" is a string, and the column is int64`},
		{"[\n{\"a\":1},\n{\"a\":tru}]", `element 2, byte 6, column "a"`},
		{`[{"a":1} {"a":2}]`, "byte 9, after element 1: a comma or a closing bracket must follow an element"},
		{`[{"a":1}`, "byte 8, after element 1: the file ends inside the array"},
		{`[{"a":1},{"b":"` + strings.Repeat("x", 3000) + `"},{"a":3}]`, "element 2: longer than max_line=2KiB"},
	} {
		rt := connectortest.NewRuntime(t)
		connectortest.ReadAll(t, jsonSource(t, file.Local{}, c.text, jsonl.Options{Schema: "a:int64", MaxLine: 2 << 10}), rt)
		if f := rt.Failures(); len(f) != 1 || !strings.Contains(f[0].Err.Error(), c.want) {
			t.Errorf("%.40s: %v, want %s", c.text, f, c.want)
		}
	}
}

// TestArrayInference names elements where keys have no common type.
func TestArrayInference(t *testing.T) {
	_, err := jsonSource(t, file.Local{}, "[\n{\"a\":1},\n\n{\"a\":\"x\"}]", jsonl.Options{}).Schema(t.Context())
	if err == nil || !strings.Contains(err.Error(), "element 1 (1)") || !strings.Contains(err.Error(), "element 2 (\"x\")") {
		t.Error(err)
	}
}

// TestArrayConformance replays, cancels and projects arrays, and meets the faults of files.
func TestArrayConformance(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "%s{\"id\": %d,\n \"tags\": [\"a\", {\"k\": \"]\\\"%d\"}], \"name\": \"n%d\"}", map[bool]string{true: "[\n", false: " ,"}[i == 0], i, i, i)
	}
	text.WriteString("\n]\n")
	connectortest.RunSource(t, connectortest.SourceConfig{
		New: func(tb testing.TB, fs file.FS) dataset.Source {
			return jsonSource(tb, fs, text.String(), jsonl.Options{Mixed: jsonl.MixedString})
		},
		Rows: 300,
	})
}

// TestArraysLikeStandard compares arrays of any values with encoding/json, in reads of every size.
func TestArraysLikeStandard(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.Custom(func(rt *rapid.T) any {
			switch rapid.IntRange(0, 4).Draw(rt, "kind") {
			case 0:
				return rapid.String().Draw(rt, "text")
			case 1:
				return rapid.SliceOfN(rapid.StringMatching(`[\[\]{}",\\ab]*`), 0, 3).Draw(rt, "texts")
			case 2:
				return map[string]any{rapid.StringMatching(`[\[\]{}",\\ab]*`).Draw(rt, "key"): nil}
			case 3:
				return rapid.Float64Range(-1e9, 1e9).Draw(rt, "number")
			}
			return rapid.Bool().Draw(rt, "truth")
		})
		var want []any
		for _, v := range rapid.SliceOfN(value, 0, 6).Draw(rt, "values") {
			want = append(want, map[string]any{"v": v})
		}
		raw, err := json.Marshal(append([]any{}, want...))
		if rapid.Bool().Draw(rt, "indent") {
			raw, err = json.MarshalIndent(append([]any{}, want...), "", "\t")
		}
		if err != nil {
			rt.Fatal(err)
		}
		got, err := jsonl.ArrayLines(iotest.OneByteReader(bytes.NewReader(raw)))
		if err != nil {
			rt.Fatalf("%s: %v", raw, err)
		}
		whole, err := jsonl.ArrayLines(bytes.NewReader(raw))
		if err != nil || !bytes.Equal(got, whole) || len(got) != len(raw) {
			rt.Fatalf("%s: %q in single bytes, %q at once, %v", raw, got, whole, err)
		}
		var lines []string
		for _, line := range strings.Split(string(got), "\n") {
			if strings.TrimSpace(line) != "" {
				lines = append(lines, line)
			}
		}
		if len(lines) != len(want) {
			rt.Fatalf("%s: lines %q", raw, lines)
		}
		for i, line := range lines {
			var back any
			if err := json.Unmarshal([]byte(line), &back); err != nil {
				rt.Fatalf("%s: line %q: %v", raw, line, err)
			}
			a, _ := json.Marshal(back)
			b, _ := json.Marshal(want[i])
			if !bytes.Equal(a, b) {
				rt.Fatalf("line %s, want %s", a, b)
			}
		}
	})
}

// FuzzArrayLines makes lines of anything without moving a byte.
func FuzzArrayLines(f *testing.F) {
	for _, s := range []string{`[{"a":1},{"b":[1,"]"]}]`, "[1, 2\n,\"x\\\"\"]", "[", "[]]", `[{"a"`, "\xef\xbb\xbf[null]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := jsonl.ArrayLines(bytes.NewReader(data))
		slow, slowErr := jsonl.ArrayLines(iotest.OneByteReader(bytes.NewReader(data)))
		if !bytes.Equal(got, slow) || fmt.Sprint(err) != fmt.Sprint(slowErr) {
			t.Fatalf("%q: %q and %v at once, %q and %v in single bytes", data, got, err, slow, slowErr)
		}
		a, broken := errors.AsType[*jsonl.ArrayError](err)
		if err != nil && (!broken || a.Offset != uint64(len(got))) {
			t.Fatalf("%q: %d bytes and error %v", data, len(got), err)
		}
		if valid := json.Valid(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) && len(bytes.TrimSpace(data)) > 0; valid && bytes.HasPrefix(data, []byte("[")) && err != nil {
			t.Fatalf("%q is an array, and: %v", data, err)
		}
	})
}
