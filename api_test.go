package sluice_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/dataset"
)

// open opens a session for a test.
func open(t *testing.T, opts ...sluice.Option) *sluice.Session {
	t.Helper()
	s, err := sluice.Open(t.Context(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// file writes a file for a test and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	writeFile(t, path, text)
	return path
}

func writeFile(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

const people = `{"id":1,"name":"ada","score":0.5,"tags":["x","y"],"born":"1815-12-10T00:00:00Z"}
{"id":2,"name":"bob","score":null,"tags":[],"born":null}
{"id":3,"name":null,"score":2,"tags":null,"born":"2001-01-01T01:02:03Z"}
`

func TestTerminals(t *testing.T) {
	ctx := t.Context()
	ds := open(t).ReadJSONL(file(t, "people.jsonl", people))
	if n, err := ds.Count(ctx); n != 3 || err != nil {
		t.Errorf("Count is %d, %v", n, err)
	}
	schema, err := ds.Schema(ctx)
	if err != nil || schema.NumFields() != 5 {
		t.Errorf("Schema is %v, %v", schema, err)
	}
	rows, err := ds.Take(ctx, 2)
	if err != nil || len(rows) != 2 || rows[1]["name"] != "bob" || rows[1]["score"] != nil {
		t.Errorf("Take gives %v, %v", rows, err)
	}
	if rows, err := ds.Take(ctx, 0); len(rows) != 0 || err != nil {
		t.Errorf("Take 0 gives %v, %v", rows, err)
	}
	text, err := ds.Filter("score > 1").Explain(ctx)
	if err != nil || !strings.Contains(text, "where") || !strings.Contains(text, "Physical plan") {
		t.Errorf("Explain gives %q, %v", text, err)
	}
	for range ds.Rows(ctx) {
		break // must cancel and wait
	}
}

func TestMistakesComeOutAtTheTerminal(t *testing.T) {
	s := open(t)
	ds := s.ReadJSONL(file(t, "people.jsonl", people))
	out := filepath.Join(t.TempDir(), "out.parquet")
	for name, tc := range map[string]struct {
		out  sluice.Output
		want string
	}{
		"step":            {ds.Step("resise", "1x1").Write(out), `did you mean "resize"`},
		"argument":        {ds.Step("limit", "many").Write(out), "limit"},
		"column":          {ds.Select("nmae").Write(out), `did you mean "name"`},
		"no argument":     {ds.Step("union", "x").Write(out), "union"},
		"expression":      {ds.Filter("score >").Write(out), "where"},
		"extension":       {ds.Write("out.what"), "unknown extension"},
		"writer":          {ds.WriteWith("parket", out), `did you mean "parquet"`},
		"write option":    {ds.WriteParquet(out, "compression"), "is no option"},
		"write value":     {ds.WriteParquet(out, "compression=fast"), "compression"},
		"reader":          {s.ReadWith("jsonk", []string{"a"}).Write(out), `did you mean "jsonl"`},
		"two paths":       {s.ReadJSONL("a.jsonl", "b.jsonl").Write(out), "is no option"},
		"no path":         {s.Read().Write(out), "no path"},
		"two kinds":       {s.Read("a.jsonl", "b.parquet").Write(out), "is read by"},
		"no file":         {s.ReadJSONL("none-*.jsonl").Write(out), "none-*.jsonl"},
		"tune a source":   {ds.Tune(sluice.BatchSize(1)).Write(out), "tune"},
		"tune a function": {ds.Limit(1).Tune(sluice.CodeVersion(1)).Write(out), "CodeVersion"},
		"first one":       {ds.Step("a", "").Step("b", "").Write(out), `"a"`},
		"in a union":      {ds.Union(ds.Step("c", "")).Write(out), `"c"`},
		"no operator":     {ds.Via(nil).Write(out), "is nil"},
		"no source":       {s.From(nil).Write(out), "is nil"},
		"pipeline":        {s.Pipeline("a.jsonl | b.parquet").Write(out), "ends in the sink"},
		"job":             {s.Job("a.jsonl | limit 1"), "no sink"},
		"job text":        {s.Job("a.jsonl | limmit 1 | b.parquet"), "limmit"},
		"job file":        {s.JobFile("none.yaml", nil), "none.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.out.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestSeveralOutputsShareTheirSteps(t *testing.T) {
	s, dir := open(t), t.TempDir()
	ds := s.ReadJSONL(file(t, "people.jsonl", people)).Filter("id < 3")
	report, err := s.Run(t.Context(), ds.Write(filepath.Join(dir, "all.parquet")), ds.Select("id").WriteJSONL(filepath.Join(dir, "ids.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	if report.RowsRead != 3 || len(report.Targets) != 2 {
		t.Errorf("%d rows read for %d targets; want 3 for 2", report.RowsRead, len(report.Targets))
	}
	data, err := os.ReadFile(filepath.Join(dir, "ids.jsonl"))
	if err != nil || string(data) != "{\"id\":1}\n{\"id\":2}\n" {
		t.Errorf("ids.jsonl is %q, %v", data, err)
	}
	if n, err := s.Read(filepath.Join(dir, "all.parquet")).Count(t.Context()); n != 2 || err != nil {
		t.Errorf("all.parquet has %d rows, %v", n, err)
	}
	other := open(t)
	if _, err := other.Run(t.Context(), ds.Write("-")); err == nil || !strings.Contains(err.Error(), "another session") {
		t.Errorf("the error is %v", err)
	}
}

func TestDatasetsAreUsedAgain(t *testing.T) {
	s := open(t)
	ds := s.ReadJSONL(file(t, "people.jsonl", people)).Select("id")
	twice := ds.Filter("id > 1").Union(ds, ds.Filter("id == 1").Union(ds.Limit(1)))
	for range 3 {
		rows, err := twice.Sort("id").Take(t.Context(), 99)
		if got := fmt.Sprint(rows); err != nil || got != "[map[id:1] map[id:1] map[id:1] map[id:2] map[id:2] map[id:3] map[id:3]]" {
			t.Fatalf("rows are %s, %v", got, err)
		}
	}
	rows, err := twice.Take(t.Context(), 99) // one input after the other
	if got := fmt.Sprint(rows); err != nil || got != "[map[id:2] map[id:3] map[id:1] map[id:2] map[id:3] map[id:1] map[id:1]]" {
		t.Fatalf("rows are %s, %v", got, err)
	}
}

func TestRunOptions(t *testing.T) {
	s, out := open(t), filepath.Join(t.TempDir(), "out.jsonl")
	ds := s.ReadJSONL(file(t, "people.jsonl", people)).Select("id")
	run := func(d sluice.Dataset, opts ...sluice.RunOption) (*dataset.Report, error) {
		return d.Write(out).Run(t.Context(), opts...)
	}
	if _, err := run(ds); err != nil {
		t.Fatal(err)
	}
	if r, err := run(ds); err != nil || !r.Complete {
		t.Errorf("the same command again: %+v, %v", r, err)
	}
	if _, err := run(ds.Limit(1)); err == nil || !strings.Contains(err.Error(), "overwrite") {
		t.Errorf("another plan: %v", err)
	}
	if _, err := run(ds.Limit(1), sluice.WithOverwrite()); err != nil {
		t.Error(err)
	}
	if _, err := run(ds.Limit(2), sluice.WithAppend()); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(out)
	if err != nil || string(data) != "{\"id\":1}\n{\"id\":1}\n{\"id\":2}\n" {
		t.Errorf("out.jsonl is %q, %v", data, err)
	}
	derived := s.With(sluice.WithSeed(7), sluice.WithPartSize(1<<20), sluice.WithCommitEvery(time.Second), sluice.WithOrdered())
	if o := derived.Options(); o.Seed != 7 || !o.SeedSet || o.PartBytes != 1<<20 || o.CommitEvery != time.Second || !o.Ordered {
		t.Errorf("options are %+v", o)
	}
	if s.Options().Ordered {
		t.Error("With changed the session that it was called on")
	}
}

func TestTuneReplacesTheLastStepOnly(t *testing.T) {
	ds := open(t).ReadJSONL(file(t, "people.jsonl", people)).Filter("id > 0").Tune(sluice.Concurrency(2, 2)).Limit(3).Tune(sluice.Separate(), sluice.BatchSize(1))
	node := ds.Plain().Node()
	if !node.Hints.Separate || node.Hints.BatchRows != 1 || node.Inputs[0].Hints.MinWorkers != 2 || node.Inputs[0].Inputs[0].Source == nil {
		t.Errorf("hints are %+v and %+v", node.Hints, node.Inputs[0].Hints)
	}
	if n, err := ds.Count(t.Context()); n != 3 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestOptionsWithBlanksAndLists(t *testing.T) {
	s := open(t)
	ds := s.ReadImages("testdata/photos/cat.jpg").Decode("mode=rgb", "out=my pixels").Resize(8, 8, "in=my pixels").
		ToTensor(8, 8, "in=my pixels", "out=t", "mean=0.4,0.5,0.6", "std=0.5")
	rows, err := ds.Select("my pixels", "t").Take(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || len(rows[0]["t"].([]any)) != 8*8*3 || rows[0]["my pixels"].(sluice.Row)["width"] != int32(8) {
		t.Errorf("rows are %v", rows)
	}
}
