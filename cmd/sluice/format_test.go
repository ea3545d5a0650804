package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

func TestFormat(t *testing.T) {
	dir := events(t, 3)
	const text = `events.jsonl schema="id:int64, text:string" | where score > 0.5 and lang == "de" | select id, text | sort id desc | "out {x}/" by=lang compression=zstd`
	stdout, stderr, code := run(t, dir, "", "fmt", text)
	want := `version: 1
source:
  path: events.jsonl
  schema: id:int64, text:string
steps:
  - where: score > 0.5 and lang == "de"
  - select: id, text
  - sort: id desc
sink:
  path: out {{x}}/
  literal: true
  by: [lang]
  compression: zstd
`
	if code != 0 || stdout != want || stderr != "" {
		t.Fatalf("code %d\n%s%s\nwant:\n%s", code, stdout, stderr, want)
	}
	write(t, filepath.Join(dir, "job.yaml"), stdout)
	back, _, code := run(t, dir, "", "fmt", "job.yaml")
	if code != 0 || back != strings.Replace(text, "by=lang compression=zstd", "compression=zstd by=lang", 1)+"\n" {
		t.Errorf("back: code %d\n%s", code, back)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string // on standard output, or the mistake
		code int
	}{
		{"the same form", []string{"--to", "pipeline", "events.jsonl|limit   5"}, "events.jsonl | limit 5\n", 0},
		{"defaults are left out", []string{"--to", "pipeline", "x.jpg | decode mode=rgb | resize 2x2 exact"}, "x.jpg | decode | resize 2x2\n", 0},
		{"a reader by flag", []string{"--from", "binary", "x/*"}, "version: 1\nsource:\n  path: x/*\n  from: binary\n", 0},
		{"literal and pattern", []string{"'a b.jsonl' + c.jsonl"}, "version: 1\nsource:\n  - {path: a b.jsonl, literal: true}\n  - c.jsonl\n", 0},
		{"standard input", []string{"- | limit 1 | -"}, "version: 1\nsource: '-'\nsteps:\n  - limit: 1\nsink: '-'\n", 0},
		{"an unknown form", []string{"--to", "jsn", "x.jsonl"}, `fmt: --to is "jsn", want yaml, pipeline or go`, 2},
		{"a mistake", []string{"x.jsonl | lmit 1"}, "            ^\n", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := run(t, dir, "", append([]string{"fmt"}, tt.args...)...)
			if code != tt.code || code == 0 && stdout != tt.want || code != 0 && !strings.Contains(stderr, tt.want) {
				t.Errorf("code %d\n%s%s\nwant %d:\n%s", code, stdout, stderr, tt.code, tt.want)
			}
		})
	}
}

// TestFormatIsWithoutLoss: whatever is written in one form and read from the other makes the same plan, and writing it twice gives the first text.
func TestFormatIsWithoutLoss(t *testing.T) {
	s, err := sluice.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := events(t, 5)
	names := pipeline.NamesOf(s.Registry())
	env := pipeline.Env{Registry: s.Registry(), Runner: s.Runner()}
	value := rapid.OneOf(rapid.SampledFrom([]string{"a", "a b", "it's", `say "x"`, "{x}", "{{x}}", "a,b", "n=1", "#", "null", "1.10", "yes", "~", "a: b", "- x", "`"}),
		rapid.StringMatching(`[ -~äß]{1,8}`))
	quote := dataset.Quote
	rapid.Check(t, func(t *rapid.T) {
		v := func(what string) string { return value.Draw(t, what) }
		source := quote(filepath.Join(dir, "events.jsonl")) + " mixed=string"
		if rapid.Bool().Draw(t, "csv") {
			source = filepath.Join(dir, "events.jsonl") + " from=csv null=" + quote(v("null")) + "," + quote(v("null2")) + " delim=\";\""
		}
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{
			`where text != ` + quote(v("text")) + ` and id >= 1 || lang == "x|y"`, `select id, text, lang, score`, `select id,text, lang, score`,
			`with ` + quote("c"+v("name")) + ` = length(text) + 1`, `sort id desc nulls first, text`, `limit ` + "7", `sample 0.5 seed=3`,
			`rename text ` + quote(v("to")), `repartition rows=5`, `unnest tags keep_empty=true`, `drop ` + quote(v("drop")),
			`download url out=` + quote(v("out")) + ` timeout=90s max_bytes=1.5MiB`,
		}), 0, 4).Draw(t, "steps")
		sink := rapid.SampledFrom([]string{"", " | -", " | out/ by=lang compression=zstd", ` | "o {d} ut.csv" delim=";"`, ` | x/y to=jsonl`}).Draw(t, "sink")
		text := strings.Join(append([]string{source}, steps...), " | ") + sink
		parsed, err := pipeline.Parse(text, names)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		first := canonical(t, env, parsed)
		job, err := first.Job()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		loaded, err := pipeline.LoadJob(job, nil)
		if err != nil {
			t.Fatalf("%s\n%v", job, err)
		}
		again, err := canonical(t, env, loaded).Text(names)
		if err != nil {
			t.Fatalf("%s\n%v", job, err)
		}
		if one, err := first.Text(names); err != nil || one != again {
			t.Fatalf("text → text %s (%v)\ntext → job → text %s", one, err, again)
		}
		reparsed, err := pipeline.Parse(again, names)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		job2, err := canonical(t, env, reparsed).Job()
		if err != nil || string(job2) != string(job) {
			t.Fatalf("the job is\n%s\nand was\n%s(%v)", job2, job, err)
		}
		if a, b, c := planOf(t, env, parsed), planOf(t, env, loaded), planOf(t, env, reparsed); a != b || a != c {
			t.Fatalf("%s\nmakes the plans\n%s\n%s\n%s", text, a, b, c)
		}
	})
}

func canonical(t *rapid.T, env pipeline.Env, p *pipeline.Pipeline) *pipeline.Pipeline {
	c, err := env.Canonical(t.Context(), p)
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	return c
}

// planOf is what the fingerprint of a plan is made of, as far as the pipeline says it.
func planOf(t *rapid.T, env pipeline.Env, p *pipeline.Pipeline) string {
	built, err := env.Build(t.Context(), p)
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	var b strings.Builder
	dataset.Walk(func(n *dataset.Node) {
		params := any(nil)
		if n.Source != nil {
			params = n.Source.Params()
		} else {
			params = n.Spec.Params()
		}
		raw, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(n.Name() + string(raw) + "\n")
	}, built.Dataset.Node())
	if built.Sink != nil {
		raw, err := json.Marshal(built.Sink.Params())
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(built.Sink.Name() + string(raw))
	}
	return b.String()
}

// TestFingerprintsOfFormats: the engine takes the result of one form for that of the other.
func TestFingerprintsOfFormats(t *testing.T) {
	dir := events(t, 20)
	const text = `events.jsonl | where score > 0.3 and lang == "de" | with len = length(text) | select id, len | out.parquet compression=zstd`
	job, _, _ := run(t, dir, "", "fmt", text)
	write(t, filepath.Join(dir, "job.yaml"), job)
	if _, stderr, code := run(t, dir, "", text); code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := run(t, dir, "", "run", "job.yaml"); code != 0 || !strings.Contains(stderr, "already complete") {
		t.Errorf("the job after the pipeline: code %d, %s", code, stderr)
	}
}

// TestGoProgramCompilesAndRuns: the program gives the rows that the pipeline gives.
func TestGoProgramCompilesAndRuns(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatalf("the go command is needed: %v", err)
	}
	dir := events(t, 20)
	const text = "events.jsonl + 'events.jsonl' mixed=string | where score > 0.3 and lang == \"de\" | with len = length(text) | rename text `the text` | " +
		"select id, `the text`, len, score | drop score | sort len desc, id | limit 5 | out.jsonl"
	source, stderr, code := run(t, dir, "", "fmt", "--to", "go", text)
	if code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := run(t, dir, "", text); code != 0 {
		t.Fatal(stderr)
	}
	want, err := os.ReadFile(filepath.Join(dir, "out.jsonl"))
	if err != nil || len(want) == 0 {
		t.Fatal(err)
	}
	main := filepath.Join(t.TempDir(), "main.go")
	write(t, main, strings.Replace(source, `"out.jsonl"`, `"again.jsonl"`, 1))
	bin := filepath.Join(filepath.Dir(main), "job")
	build := exec.CommandContext(t.Context(), goTool, "build", "-o", bin, main)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s\n%s", err, out, source)
	}
	c := exec.CommandContext(t.Context(), bin)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "read 20 rows, wrote 5 rows in ") {
		t.Fatalf("run: %v\n%s\n%s", err, out, source)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "again.jsonl")); err != nil || string(got) != string(want) {
		t.Errorf("it gave\n%swant\n%s(%v)", got, want, err)
	}
}
