package dataset

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type textParams struct {
	Name  string         `json:"name" arg:"word"`
	Mode  string         `json:"mode" arg:"word"`
	Cols  []string       `json:"cols" arg:"list"`
	Size  ByteSize       `json:"size"`
	Wait  time.Duration  `json:"wait"`
	Share float64        `json:"share"`
	N     int            `json:"n"`
	On    bool           `json:"on"`
	Maybe *string        `json:"maybe"`
	Tags  []string       `json:"tags"`
	Types map[string]int `json:"types"`
}

type restParams struct {
	Force bool   `json:"force"`
	Expr  string `json:"expr" arg:"rest"`
}

func TestArgsText(t *testing.T) {
	empty := ""
	for _, tt := range []struct {
		name             string
		params, defaults any
		want             string
	}{
		{"defaults", textParams{Name: "a", Mode: "x"}, textParams{Name: "a", Mode: "x"}, ""},
		{"a default before a word", textParams{Name: "a", Mode: "y"}, textParams{Name: "a", Mode: "x"}, "a y"},
		{"a pointer", &textParams{Name: "a"}, nil, "a"},
		{"a word like an option", textParams{Name: "n=5"}, nil, `"n=5"`},
		{"an empty word", textParams{Mode: "y"}, nil, `"" y`},
		{"a list", textParams{Name: "s", Mode: "m", Cols: []string{"a", "b c", "d,e", "n=1"}}, nil, `s m a, "b c", "d,e", "n=1"`},
		{"options", textParams{Size: 64 << 20, Wait: 90 * time.Second, Share: 0.25, N: -3, On: true, Maybe: &empty, Tags: []string{"x", ""},
			Types: map[string]int{"b": 2, "a": 1}}, nil, `size=64MiB wait=1m30s share=0.25 n=-3 on=true maybe="" tags=x,"" types=a:1,b:2`},
		{"a rest", restParams{Expr: `width > 3 and name == "x"`, Force: true}, nil, `force=true width > 3 and name == "x"`},
		{"a rest like an option", restParams{Expr: "force=1"}, nil, `expr=force=1`},
		{"a rest in quotes", restParams{Expr: `"a" == b`}, nil, `expr="\"a\" == b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ArgsText(tt.params, tt.defaults)
			if err != nil || got != tt.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, tt.want)
			}
		})
	}
	type nested struct{ Inner struct{ A int } }
	if _, err := ArgsText(nested{struct{ A int }{1}}, nil); err == nil || !strings.Contains(err.Error(), "write inner: a mapping cannot be written as text") {
		t.Errorf("a nested struct: %v", err)
	}
}

// TestArgsTextReadsBack: whatever the values are, what is written is read back equal.
func TestArgsTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "n=1", "a b", "'", `"`, "`", `\`, "(", "]", "a,b", "{x}", "\n", "x:y", "|", "on=true"}), rapid.String())
		text := func(what string) string { return word.Draw(t, what) }
		list := rapid.SliceOfN(word, 1, 3)
		p := textParams{Name: text("name"), Mode: text("mode"), Cols: list.Draw(t, "cols"), N: rapid.Int().Draw(t, "n"),
			On: rapid.Bool().Draw(t, "on"), Share: rapid.Float64().Draw(t, "share"), Tags: list.Draw(t, "tags"),
			Size: ByteSize(rapid.Int64Range(0, 1<<40).Draw(t, "size")), Wait: time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, "wait"))}
		maybe := text("maybe")
		p.Maybe = &maybe
		defaults := textParams{Mode: "m", N: 7, On: true}
		args, err := ArgsText(p, defaults)
		if err != nil {
			t.Fatal(err)
		}
		got := defaults
		if err := ParseArgs(args, &got); err != nil || !reflect.DeepEqual(got, p) {
			t.Fatalf("%s\nis read as %+v (%v)\nwant       %+v", args, got, err, p)
		}
		options, err := OptionTexts(p, defaults)
		if err != nil {
			t.Fatal(err)
		}
		byText, named := defaults, map[string]any{}
		for _, o := range options {
			named[o.Name] = o.Any
			if err := SetOption(&byText, o.Name, o.Text); err != nil {
				t.Fatalf("%s=%s: %v", o.Name, o.Text, err)
			}
		}
		byName := defaults
		if err := ParamsFromMap(named, &byName); err != nil || !reflect.DeepEqual(byName, p) || !reflect.DeepEqual(byText, p) {
			t.Fatalf("by name %+v (%v)\nby text %+v\nwant    %+v", byName, err, byText, p)
		}
		r := restParams{Expr: strings.TrimSpace(text("expr"))}
		if args, err = ArgsText(r, nil); err != nil {
			t.Fatal(err)
		}
		var back restParams
		if err := ParseArgs(args, &back); err != nil || back != r {
			t.Fatalf("%q is read as %+v (%v), want %+v", args, back, err, r)
		}
	})
}
