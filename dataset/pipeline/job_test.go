package pipeline

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

func TestLoadJob(t *testing.T) {
	job := `
version: 1
source:
  path: [ "in/{date}/*.csv", b.csv ]
  delim: ";"
  from: csv
steps:
  - decode
  - decode:
  - where: id > 1 or text == "a|b"
  - select: [id, "text", 'a,b']
  - limit: "{n}"
  - resize:
      size: 224x224
      mode: fit
sink: {path: out/, to: parquet, null: [a, "b c"]}
`
	p, err := LoadJob([]byte(job), map[string]string{"date": "2026-01-01", "n": "5"})
	if err != nil {
		t.Fatal(err)
	}
	want := &Pipeline{
		Source: Source{Paths: []Path{{Text: "in/2026-01-01/*.csv"}, {Text: "b.csv"}}, From: "csv", Params: map[string]any{"delim": ";"}},
		Steps: []Step{{Name: "decode"}, {Name: "decode"}, {Name: "where", Args: `id > 1 or text == "a|b"`},
			{Name: "select", Args: `id, text, "a,b"`}, {Name: "limit", Args: "5"},
			{Name: "resize", Params: map[string]any{"size": "224x224", "mode": "fit"}}},
		Sink: &Sink{Path: "out/", To: "parquet", Params: map[string]any{"null": []any{"a", "b c"}}},
	}
	if !p.Equal(want) {
		t.Errorf("got  %+v\nwant %+v", p.bare(), want.bare())
	}
	const text = `in/2026-01-01/*.csv + b.csv from=csv delim=; | decode | decode | where id > 1 or text == "a|b" | ` +
		`select id, text, "a,b" | limit 5 | resize mode=fit size=224x224 | out/ to=parquet null=a,"b c"`
	if p.String() != text {
		t.Errorf("prints as\n%s\nwant\n%s", p.String(), text)
	}
	if p.Steps[2].Pos.Line != 10 || p.Steps[5].ArgsPos.Line != 14 || p.Sink.Pos.Line != 16 {
		t.Errorf("lines %+v %+v", p.Steps, p.Sink)
	}
}

func TestJobsSayWhatStringsSay(t *testing.T) {
	tests := []struct{ job, text string }{
		{"source: a.csv", "a.csv"},
		{"source: {path: a b.csv, literal: true}\nsink: '-'", `"a b.csv" | -`},
		{"source: '-'\nsteps: [{limit: 5}]\nsink: '-'", `- | limit 5 | -`},
		{"source: a b.csv\nsteps:\nsink:", `glob("a b.csv")`},
		{"source: '{{x}}/*.{jpg,png}'", "{x}/*.{jpg,png}"},
		{"source: a.csv\nsteps:\n- where: |\n    x ==\n    1", "a.csv | where x ==\n1"},
		{"source: a.csv\nsteps:\n- where: yes", "a.csv | where yes"},
		{"source: a.csv\nsteps:\n- limit: 1_000", "a.csv | limit 1_000"},
	}
	for _, tt := range tests {
		p, err := LoadJob([]byte("version: 1\n"+tt.job), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.job, err)
			continue
		}
		q, err := Parse(tt.text, names)
		if err != nil || !p.Equal(q) {
			t.Errorf("%s: %s, want %s (%v)", tt.job, p, q, err)
		}
	}
}

func TestLoadJobErrors(t *testing.T) {
	tests := []struct {
		job  string
		line int
		want string
	}{
		{"", 1, "the job file is empty"},
		{"# nothing", 1, "the job file is empty"},
		{"a: [", 1, "did not find expected"},
		{"version: 1\n\tx: 2", 2, "found a tab character"},
		{"[1]", 1, "the job is a list, want a mapping"},
		{"source: a.csv", 1, "the job has no version; add version: 1"},
		{"version: 2\nsource: a.csv", 1, "this program reads version 1"},
		{"version: 1", 1, "the job has no source"},
		{"version: 1\nsuorce: a.csv", 2, `unknown key "suorce" of the job (did you mean "source"?)`},
		{"version: 1\nqqqqqqqqq: a.csv", 2, "there are version, source, steps, sink"},
		{"version: 1\nsource: a.csv\nsource: b.csv", 3, `the key "source" is given twice`},
		{"version: 1\nsource: 'a'\nsink: -", 3, "put quotes around a lone -"},
		{"version: 1\nsource: {}", 2, "the source has no path"},
		{"version: 1\nsource: []", 2, "the list of paths is empty"},
		{"version: 1\nsource: ['']", 2, "the path is empty"},
		{"version: 1\nsource: {path: a, literal: maybe}", 2, `literal is "maybe", want true or false`},
		{"version: 1\nsource: {date}", 2, `quote it: "{date}"`},
		{"version: 1\nsource:\n- path: {date}", 3, `quote it: "{date}"`},
		{"version: 1\nsource:\n- {path: a, form: x}", 3, `unknown key "form" of a path`},
		{"version: 1\nsource: 'in/{date}'", 2, "the placeholder {date} has no value; give it with --set date=…"},
		{"version: 1\nsource: a.csv\nsteps: x", 3, "steps is text, want a list"},
		{"version: 1\nsource: a.csv\nsteps:\n- a: 1\n  b: 2", 4, "a step has 2 keys, want one"},
		{"version: 1\nsource: a.csv\nsteps:\n- {}", 4, "a step has 0 keys, want one"},
		{"version: 1\nsource: a.csv\nsteps:\n- where x > 1", 4, "write the step as a mapping: - where: x > 1"},
		{"version: 1\nsource: a.csv\nsteps:\n- [a]", 4, "a step is a list, want a mapping"},
		{"version: 1\nsource: a.csv\nsteps:\n-", 4, "a step is empty, want a mapping"},
		{"version: 1\nsource: a.csv\nsteps:\n- resize:\n    a: 1\n    a: 2", 6, "given twice"},
		{"version: 1\nsource: a.csv\nsteps:\n- select: [[a]]", 4, "item 1 is a list, want text"},
		{"version: 1\nsource: &x a.csv\nsink: *x", 3, "sink is an alias, want text"},
		{"version: 1\nsource:\n  <<: {path: a}", 3, "want text"},
		{"version: 1\nsource: !!binary YQ==", 2, "has the tag !!binary"},
		{"version: 1\nsource: a.csv\nsink: {to: csv}", 3, "the sink has no path"},
		{"version: 1\nsource: a.csv\nsink: ''", 3, "the path to write to is empty"},
		{"version: 1\nsource: a.csv\n---\nversion: 1", 3, "a job file holds one document"},
		{"version: 1\nsource: {path: a, x: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}", 2, "nests deeper than 32"},
	}
	for _, tt := range tests {
		_, err := LoadJob([]byte(tt.job), nil)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Pos.Line != tt.line || !strings.Contains(e.Err.Error(), tt.want) {
			t.Errorf("%s:\n got %v\nwant line %d: … %s", tt.job, err, tt.line, tt.want)
		}
		if _, ok := errors.AsType[*dataset.UsageError](err); !ok {
			t.Errorf("%s: %v is no mistake of usage", tt.job, err)
		}
	}
	_, err := LoadJob([]byte("version: 1\nsource: '{date}.csv'"), map[string]string{"date": "x", "dat": "y"})
	if err == nil || !strings.Contains(err.Error(), `--set dat: the job has no placeholder {dat} (did you mean "date"?)`) {
		t.Errorf("an unused value gives %v", err)
	}
	if _, err := LoadJob(make([]byte, maxJob+1), nil); err == nil {
		t.Error("a job file without end is read")
	}
}

func TestBuildJobErrors(t *testing.T) {
	tests := []struct {
		job  string
		line int
		want string
	}{
		{"steps:\n- lmit: 5", 4, `unknown step "lmit" (did you mean "limit"?)`},
		{"steps:\n- resize:\n    siz: 1", 5, `resize: siz: unknown option (did you mean "size"?)`},
		{"steps:\n- limit: x", 4, `"x" is no whole number`},
		{"steps:\n- decode: {fast: 1}", 4, "decode takes no arguments"},
		{"sink: {path: a.csv, nul: x}", 3, `csv: nul: unknown option (did you mean "null"?)`},
		{"sink: a.xyz", 3, "unknown extension .xyz"},
	}
	for _, tt := range tests {
		p, err := LoadJob([]byte("version: 1\nsource: a.csv\n"+tt.job), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.job, err)
			continue
		}
		_, err = fakeEnv().Build(t.Context(), p)
		if e, ok := errors.AsType[*Error](err); !ok || e.Pos.Line != tt.line || !strings.Contains(e.Err.Error(), tt.want) {
			t.Errorf("%s:\n got %v\nwant line %d: … %s", tt.job, err, tt.line, tt.want)
		}
	}
}

func FuzzLoadJob(f *testing.F) {
	f.Add([]byte("version: 1\nsource: {path: [a, b], x: {y: [1, null]}}\nsteps:\n- a\n- b: c\n- d: [e, 'f,g']\n- h: {i: j}\nsink: '{n}'"))
	f.Add([]byte("version: 1\nsource: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := LoadJob(data, map[string]string{"n": "v"})
		if err == nil {
			if p.String() == "" || !p.Equal(p) {
				t.Fatal("a job without text")
			}
			return
		}
		if _, ok := errors.AsType[*dataset.UsageError](err); !ok {
			t.Fatalf("%v is no mistake of usage", err)
		}
	})
}
