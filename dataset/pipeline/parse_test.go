package pipeline

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

var names = NamesOf(fakeRegistry())

func TestParse(t *testing.T) {
	tests := []struct{ text, want string }{
		{"events.jsonl", "events.jsonl"},
		{" events.jsonl\n|\n  limit 5 ", "events.jsonl | limit 5"},
		{`photos/**/*.{jpg,png} | decode | where width >= 256 | resize 224x224 | out.parquet`, ""},
		{`a.jsonl | where x > 1 || y == "a|b" | -`, ""},
		{`a.jsonl | where f(a | b) and l in ["x|y", '|', ` + "`|`" + `]`, ""},
		{`- | limit 5 | -`, ""},
		{`events.csv   delim=";"  null='N A' | out/ by=lang compression=zstd`, `events.csv delim=";" null='N A' | out/ by=lang compression=zstd`},
		{`a.csv + b.csv +  "c d.csv" delim=";"`, `a.csv + b.csv + "c d.csv" delim=";"`},
		{`"*.csv" | "out file.csv"`, ""},
		{`'it\'s.csv'`, `"it's.csv"`},
		{`glob("a b/*.csv") + glob("c.csv")`, `glob("a b/*.csv") + c.csv`},
		{`"-" | "-"`, ""},
		{`lang=de/a.csv x=1 | lang=de/`, ""},
		{`a.csv from=jsonl delim=x | out to=parquet`, ""}, // out is no sink without quotes or slash: see below
		{`a.csv from="jsonl" | ./out to='parquet'`, `a.csv from=jsonl | ./out to=parquet`},
		{`a.csv | ./where x=1`, ""},
		{`a.csv | where/ x=1`, ""},
		{`a.csv | s3://b/out.parquet`, ""},
		{`a.csv | kafka:topic`, ""},
		{`a.csv | out.jsonl.gz`, ""},
		{`a.csv | where`, ""},
		{`a.csv | limit`, ""},
		{"a.csv | where x ==\n  1", "a.csv | where x ==\n  1"},
	}
	for _, tt := range tests {
		if tt.want == "" {
			tt.want = tt.text
		}
		p, err := Parse(tt.text, names)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		got := p.String()
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.text, got, tt.want)
		}
		q, err := Parse(got, names)
		if err != nil || !q.Equal(p) {
			t.Errorf("%s: %s reads back as %v, %v", tt.text, got, q, err)
		}
	}
}

func TestParseParts(t *testing.T) {
	p, err := Parse(`x/*.csv + "y.csv" delim=";" | where a || b | "out" to=csv`, names)
	if err != nil {
		t.Fatal(err)
	}
	want := &Pipeline{
		Source: Source{Paths: []Path{{Text: "x/*.csv"}, {Text: "y.csv", Literal: true}}, Options: []Option{{Name: "delim", Value: `";"`}}},
		Steps:  []Step{{Name: "where", Args: "a || b"}},
		Sink:   &Sink{Path: "out", Literal: true, To: "csv"},
	}
	if !p.Equal(want) {
		t.Errorf("got %+v", p)
	}
	if p.Steps[0].Pos.Offset != 30 || p.Steps[0].ArgsPos.Offset != 36 || p.Sink.Pos.Offset != 45 || p.Source.Options[0].Pos.Offset != 24 {
		t.Errorf("places: %+v %+v %+v", p.Steps[0], p.Sink, p.Source.Options)
	}
	p.Steps[0].Args = "a"
	if p.Equal(want) {
		t.Error("pipelines with other arguments are equal")
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		text   string
		offset int
		want   string
	}{
		{"", 0, "the pipeline is empty"},
		{"  ", 2, "the pipeline is empty"},
		{"| limit 5", 0, "the source is missing before |"},
		{"a.csv |", 7, "a step is missing after |"},
		{"a.csv | | limit 5", 8, "a step is missing between | and |"},
		{"a.csv | where (x", 14, `'(' is not closed`},
		{"a.csv | where x)", 15, `')' closes nothing`},
		{"a.csv | where (x]", 16, `']' closes the '('`},
		{"it's.csv | limit 5", 2, "the quote ' is not closed"},
		{`a.csv | where x == "y`, 19, "is not closed"},
		{`a.csv | out.parquet | limit 5`, 8, "a sink can only be the last step"},
		{`a.csv | - | limit 5`, 8, "a sink can only be the last step"},
		{`a.csv b.csv`, 6, "join paths with +"},
		{`a.csv +`, 6, "a path is missing after +"},
		{`+ a.csv`, 0, "a path is missing before +"},
		{`a.csv x=1 + b.csv`, 10, "options follow the last path"},
		{`a.csv x=1 x=2`, 10, "x is given twice"},
		{`a.csv from=`, 11, "from is empty"},
		{`""`, 0, "the path is empty"},
		{`a.csv | ""`, 8, "the path to write to is empty"},
		{`a/"b c".csv`, 2, "quote the whole path"},
		{`a.csv | a/"b c".csv`, 10, "quote the whole path"},
		{`a.csv | "out" extra`, 14, "only options key=value follow a path"},
		{`"a"b`, 3, "text after the closing quote"},
		{`glob(x)`, 0, `write a pattern as glob("…")`},
		{`glob("")`, 0, "matches nothing"},
		{`a.csv | out.xyz`, 8, ".xyz is no known extension"},
		{`a.csv | "x" | limit 3`, 8, "a sink can only be the last"},
		{`a.csv | (x) | limit 3`, 8, "a step starts with its name"},
	}
	for _, tt := range tests {
		p, err := Parse(tt.text, names)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: gives %v, %v", tt.text, p, err)
			continue
		}
		if e.Pos.Offset != tt.offset || !strings.Contains(e.Err.Error(), tt.want) {
			t.Errorf("%s:\n got %d %v\nwant %d … %s", tt.text, e.Pos.Offset, e.Err, tt.offset, tt.want)
		}
		if _, ok := errors.AsType[*dataset.UsageError](err); !ok {
			t.Errorf("%s: %v is no mistake of usage", tt.text, err)
		}
	}
	if _, err := Parse(strings.Repeat("x", maxText+1), names); err == nil {
		t.Error("a pipeline without end is read")
	}
}

func TestParseWarnsOfStars(t *testing.T) {
	p, err := Parse("photos/**.jpg + b/**/*.jpg + c/** + \"d/**.jpg\"", names)
	if err != nil {
		t.Fatal(err)
	}
	want := "photos/**.jpg: **.jpg does not look into folders; for that write photos/**/*.jpg"
	if len(p.Warnings) != 1 || p.Warnings[0] != want {
		t.Errorf("warnings %q", p.Warnings)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`photos/**/*.{jpg,png} | decode | where width >= 256 | resize 224x224 | out.parquet`,
		`- | where x > 1 || y == "a|b" | -`, `a.csv + "b c.csv" delim=";" from=x | out/ by=lang to=csv`, `glob("a\n") | limit 1`, `'\xff' | "-"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s, names)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Pos.Offset < 0 || e.Pos.Offset > len(s) {
				t.Fatalf("%q: %v has no place in the text", s, err)
			}
			return
		}
		q, err := Parse(p.String(), names)
		if err != nil || !p.Equal(q) {
			t.Fatalf("%q prints as %q, which reads as %+v, %v", s, p.String(), q, err)
		}
	})
}
