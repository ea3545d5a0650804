package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestMessages holds what people are told when something is not as they thought.
func TestMessages(t *testing.T) {
	dir := events(t, 3)
	write(t, filepath.Join(dir, "mixed.jsonl"), "{\"a\":1}\n{\"a\":\"x\"}\n")
	write(t, filepath.Join(dir, "bad.jsonl"), "{\"id\":1}\nno json\n")
	for _, tt := range []struct {
		name string
		args []string
		want string // on standard error
		not  string
		code int
	}{
		{"a failing row names the way out", []string{"bad.jsonl"}, "  --on-error skip leaves failing rows out and counts them; --on-error dead-letter keeps them beside the result\n", "", 1},
		{"not where it was taken", []string{"--on-error", "skip", "--max-errors", "1", "bad.jsonl"}, "", "--on-error skip leaves", 0},
		{"limit without a number", []string{"events.jsonl | limit"}, "limit: it needs a number of rows: limit 100", "-1", 2},
		{"sample without a number", []string{"events.jsonl | sample"}, "sample: it needs a fraction from 0 to 1: sample 0.01", "-1", 2},
		{"repartition without a number", []string{"events.jsonl | repartition"}, "repartition: it needs a number of rows a block: repartition 10000", "have 0", 2},
		{"values without a common type", []string{"mixed.jsonl"}, "a whole number in mixed.jsonl line 1 (1) and a string in mixed.jsonl line 2 (\"x\")", "1}", 2},
		{"an odd pattern is told once", []string{"**.jsonl | where id == 0 | -", "--from", "jsonl"}, "warning: **.jsonl: **.jsonl does not look into folders; for that write **/*.jsonl\n",
			"may not mean", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, stderr, code := run(t, dir, "", tt.args...)
			if tt.name == "an odd pattern is told once" {
				_, stderr, code = run(t, events(t, 3), "", tt.args...)
			}
			if code != tt.code || !strings.Contains(stderr, tt.want) || tt.not != "" && strings.Contains(stderr, tt.not) {
				t.Errorf("code %d, want %d\n%s\nwant %s\nnot %s", code, tt.code, stderr, tt.want, tt.not)
			}
		})
	}
}

// TestAppendTellsWhatItAdded: rows and bytes are those of the run, not of the file.
func TestAppendTellsWhatItAdded(t *testing.T) {
	dir := events(t, 3)
	if _, stderr, code := run(t, dir, "", "events.jsonl | select id | out.jsonl"); code != 0 {
		t.Fatal(stderr)
	}
	_, stderr, code := run(t, dir, "", "--append", "events.jsonl | where id == 1 | select id | out.jsonl")
	if code != 0 || !strings.Contains(stderr, "  out.jsonl: 1 row, 9 B\n") {
		t.Errorf("code %d\n%s", code, stderr)
	}
}

// TestTableKeepsSourceOrder: rows that are shown are in the order of the source although many workers made them.
func TestTableKeepsSourceOrder(t *testing.T) {
	dir := t.TempDir()
	var want strings.Builder
	for file := range 30 {
		write(t, filepath.Join(dir, "in", fmt.Sprintf("%02d.jsonl", file)), fmt.Sprintf("{\"id\":%d}\n", file))
		fmt.Fprintf(&want, "%5d\n", file)
	}
	for range 5 {
		stdout, stderr, code := run(t, dir, "", "--quiet", "--to", "table", "--parallel", "4", "in/*.jsonl | where id >= 0")
		if code != 0 || stdout != "   id\nint64\n"+want.String()+"30 rows\n" {
			t.Fatalf("code %d\n%s%s", code, stdout, stderr)
		}
	}
}

// TestExplainIsAsTyped: parameters are printed as they are written, and the budget as the summary has it.
func TestExplainIsAsTyped(t *testing.T) {
	dir := events(t, 3)
	stdout, _, code := run(t, dir, "", "--memory", "15000000000", "explain", `events.jsonl mixed=string | where score > 0.5 | with "a b" = id + 1 | sort id desc | limit 5 | out/ by=lang`)
	for _, want := range []string{"parquet out/ by=lang\n", "limit 5  [", "sort id desc  [", `with "a b" = id + 1  [`, "where score > 0.5  [", "jsonl events.jsonl mixed=string\n", "14 GiB"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("code %d, it lacks %q:\n%s", code, want, stdout)
		}
	}
	if strings.Contains(stdout, "{") {
		t.Errorf("there is JSON in\n%s", stdout)
	}
	_, stderr, _ := run(t, dir, "", "--memory", "15000000000", "events.jsonl | out.jsonl")
	if !strings.Contains(stderr, " of 14 GiB") {
		t.Errorf("the summary says %s", stderr)
	}
}

// TestMistakesInJobsHaveAPlace points into the line.
func TestMistakesInJobsHaveAPlace(t *testing.T) {
	dir := events(t, 3)
	for _, tt := range []struct{ job, want string }{
		{"version: 1\nsource: events.jsonl\nsteps:\n  - where: lang == \"dé\" and scroe > 1\n", "job.yaml:4:29: where: unknown column \"scroe\"; did you mean \"score\"?\n    - where: lang == \"dé\" and scroe > 1\n                              ^\n"},
		{"version: 1\nsource: events.jsonl\nsteps:\n  - where: 'score > and'\n", "job.yaml:4:21: where: "},
		{"version: 1\nsource: events.jsonl\nsteps:\n  - lmit: 5\n", "job.yaml:4:5: unknown step \"lmit\" (did you mean \"limit\"?)\n    - lmit: 5\n      ^\n"},
		{"version: 1\nsource: events.jsonl\nsteps:\n  - limit: {rowz: 5}\n", "job.yaml:4:13: limit: rowz: unknown option"},
		{"version: 1\nsource:\n  path: events.jsonl\n  schma: x\n", "job.yaml:4:3: jsonl: schma: unknown option (did you mean \"schema\"?)\n    schma: x\n    ^\n"},
		{"version: 1\nsource: events.jsonl\nsink: {path: out/, compression: zst}\n", "job.yaml:3:7: compression=zst: must be snappy, "},
		{"version: 1\nsource: none.jsonl\n", "job.yaml:2:9: "},
		{"version: 1\nsteps: x\n", "job.yaml:1:1: the job has no source\n"},
		{"version: 1\nsource: [a\n", "job.yaml:1: did not find expected"},
		{"version: 1\nsource: events.jsonl\nsteps:\n  - select: id, idd\n", "job.yaml:4:"},
	} {
		write(t, filepath.Join(dir, "job.yaml"), tt.job)
		_, stderr, code := run(t, dir, "", "run", "job.yaml")
		if code == 0 || !strings.Contains(stderr, "sluice: "+tt.want) {
			t.Errorf("%s\ncode %d\n%s\nwant\n%s", tt.job, code, stderr, tt.want)
		}
	}
}

// TestCarets: of every kind of mistake in a pipeline string, the caret is under what is wrong.
func TestCarets(t *testing.T) {
	dir := events(t, 3)
	for _, tt := range []struct{ typed, caret string }{
		{"events.jsonl | lmit 5", "lmit"},
		{"events.jsonl | where scroe > 1", "scroe"},
		{"events.jsonl | where score > and", "and"},
		{"events.jsonl | where score > \"x\"", "> \"x\""},
		{"events.jsonl | where score > 1 or nothing(text)", "nothing"},
		{"events.jsonl | with twice = scroe * 2", "scroe"},
		{"events.jsonl | with twice scroe", "scroe"},
		{"events.jsonl | select id, txt", "select"},
		{"events.jsonl | sort id upwards", "id upwards"},
		{"events.jsonl | limit many", "many"},
		{"events.jsonl | limit 5 6", "6"},
		{"events.jsonl | limit rowz=5", "rowz"},
		{"events.jsonl | download text timeout=5", "5"},
		{"events.jsonl | download text timeot=5s", "timeot"},
		{"events.jsonl schma=x | limit 1", "schma"},
		{"events.jsonl mixed=x | limit 1", "events"},
		{"events.jsonl from=jsn", "events"},
		{"events.jsonl | out/ compresion=zstd", "compresion"},
		{"events.jsonl | out/ by=idd", "out/"},
		{"events.jsonl | out.xyz", "out.xyz"},
		{"events.jsonl | out.jsonl | limit 1", "out.jsonl"},
		{"events.jsonl | where (id > 1", "("},
		{"events.jsonl | where text == \"x", "\"x"},
		{"events.jsonl | | limit 1", "| limit"},
		{"events.jsonl |", ""},
		{"| limit 1", "|"},
		{"none.jsonl | limit 1", "none"},
		{"events.jsonl + none.csv", "none"},
		{"events.jsonl extra", "extra"},
		{"events.jsonl | resize 3x3", "resize"},
	} {
		_, stderr, code := run(t, dir, "", tt.typed)
		lines := strings.Split(strings.TrimRight(stderr, "\n"), "\n")
		at := strings.LastIndex(tt.typed, tt.caret)
		if tt.caret == "" {
			at = len(tt.typed)
		}
		want := "  " + strings.Repeat(" ", at) + "^"
		if code == 0 || len(lines) < 3 || lines[len(lines)-2] != "  "+tt.typed || lines[len(lines)-1] != want {
			t.Errorf("code %d\n%s\nwant the caret so:\n  %s\n%s", code, stderr, tt.typed, want)
		}
	}
}
