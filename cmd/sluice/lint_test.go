package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLint has, for each rule, a job that it finds something in and one that it does not.
func TestLint(t *testing.T) {
	dir := photos(t)
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `{"id":%d,"lang":"%s","text":"t"}`+"\n", i, []string{"de", "en"}[i%2])
	}
	write(t, filepath.Join(dir, "in", "a.jsonl"), b.String())
	for _, tt := range []struct {
		rule string
		job  string
		want string // "" if nothing is to be found
		args []string
	}{
		{"columns-unused", "in/a.jsonl | with n = id + 1 | select id | out.jsonl", "with makes n, and nothing behind it reads that", nil},
		{"columns-unused", "in/a.jsonl | with n = id + 1 | where n > 1 | select id | out.jsonl", "", nil},
		{"decode-unused", "photos/*.jpg | decode | select path, width | out/", `decode decodes every picture, and the pixels in "image" are left out`, nil},
		{"decode-unused", "photos/*.jpg | decode | phash | select path, phash | out/", "", nil},
		{"filter-late", "in/a.jsonl | sort id | sample 0.5 | where int(text) > 1 | out.jsonl", "where reads only text, which is there before sort id", nil},
		{"filter-late", "in/a.jsonl | sort id | where lang == \"de\" | out.jsonl", "", nil}, // moved by itself
		{"sort-limit", "in/a.jsonl | sort id | select id | limit 10 | out.jsonl", "sort orders every row with all its columns, to disk if need be, and limit 10 keeps 10", nil},
		{"sort-limit", "in/a.jsonl | sort id | limit 1_000_000 | out.jsonl", "", nil},
		{"blocks-tiny", "in/a.jsonl | repartition 10 | out.jsonl", "repartition makes blocks of 10 small rows", nil},
		{"blocks-tiny", "photos/*.jpg | repartition 10 | out/", "", nil}, // rows of pictures are large
		{"by-many", "in/a.jsonl | out/ by=id", "by=id makes a folder and at least one file for each value, and the first 1000 rows have 1000 of them", nil},
		{"by-many", "in/a.jsonl | out/ by=lang", "", nil},
		{"memory-short", "photos/*.jpg | out/", "", nil},
		{"target-in-source", "in/*.jsonl | in/out.jsonl", "in/out.jsonl is within what the source in/*.jsonl reads", nil},
		{"target-in-source", "in/ | in/sub/", "in/sub/ is within what the source in/ reads", nil},
		{"target-in-source", "in/**/*.jsonl | in/sub/ to=jsonl", "in/sub/ is within what the source in/**/*.jsonl reads", nil},
		{"target-in-source", "in/**/*.jsonl | in/sub/", "", nil}, // the result is Parquet
		{"target-in-source", "in/*.jsonl | out/", "", nil},
		{"pattern", "in/**.jsonl | out/", "in/**.jsonl: **.jsonl does not look into folders", nil},
		{"pattern", "in/**/*.jsonl | out/", "", nil},
	} {
		t.Run(tt.rule+" "+tt.job, func(t *testing.T) {
			stdout, stderr, code := run(t, dir, "", append([]string{"lint", tt.job}, tt.args...)...)
			found := strings.Contains(stdout, tt.rule+": ")
			switch {
			case tt.want == "" && (found || code == 2):
				t.Errorf("code %d, it finds\n%s%s", code, stdout, stderr)
			case tt.want != "" && (code != 1 || !strings.Contains(stdout, tt.rule+": "+tt.want) || !strings.Contains(stdout, "\n  remedy: ")):
				t.Errorf("code %d, it finds\n%s%swant %s: %s", code, stdout, stderr, tt.rule, tt.want)
			}
		})
	}
}

// TestLintOfManyFiles has a folder with very many files, and one file that is too large for the memory.
func TestLintOfManyFiles(t *testing.T) {
	dir := t.TempDir()
	many := filepath.Join(dir, "many")
	if err := os.Mkdir(many, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprintf("%05d.bin", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const job = "many/ from=binary | out/"
	stdout, _, code := run(t, dir, "", "lint", job)
	if code != 1 || !strings.Contains(stdout, "fail-fast: the source has 10000 files, and --on-error fail") || !strings.Contains(stdout, "--on-error skip") {
		t.Errorf("code %d\n%s", code, stdout)
	}
	if stdout, stderr, code := run(t, dir, "", "--on-error", "skip", "lint", job); code != 0 || stdout != "" || stderr != "nothing found\n" {
		t.Errorf("with skip: code %d\n%s%s", code, stdout, stderr)
	}
	big, err := os.Create(filepath.Join(dir, "big.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(20 << 20); err != nil {
		t.Fatal(err)
	}
	big.Close()
	stdout, _, code = run(t, dir, "", "--memory", "64MiB", "lint", "big.bin | out/")
	if code != 1 || !strings.Contains(stdout, "memory-short: big.bin is one row of 20MiB, and a row above a quarter of the memory budget of 64MiB fails") ||
		!strings.Contains(stdout, "remedy: run with --memory 80MiB or more") {
		t.Errorf("code %d\n%s", code, stdout)
	}
	stages := "x.jsonl" + strings.Repeat(" | sort id | limit 5", 60)
	write(t, filepath.Join(dir, "x.jsonl"), `{"id":1}`+"\n")
	stdout, stderr, code := run(t, dir, "", "--memory", "16MiB", "lint", stages)
	if code != 1 || !strings.Contains(stdout, "memory-short: the plan cannot run: schedule plan: the memory budget is 16777216 bytes") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
}

// TestLintOfJobs names the line and column of the job file.
func TestLintOfJobs(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), `{"id":1}`+"\n")
	write(t, filepath.Join(dir, "job.yaml"), "version: 1\nsource: a.jsonl\nsteps:\n  - repartition: 10\nsink: out.jsonl\n")
	stdout, _, code := run(t, dir, "", "lint", "job.yaml")
	want := "job.yaml:4:5: blocks-tiny: repartition makes blocks of 10 small rows: every step behind it spends more on the block than on the rows\n    - repartition: 10\n      ^\n  remedy: "
	if code != 1 || !strings.HasPrefix(stdout, want) {
		t.Errorf("code %d\n%s\nwant\n%s", code, stdout, want)
	}
	write(t, filepath.Join(dir, "job.yaml"), "version: 1\nsource: a.jsonl\nsteps:\n  - where: idd > 1\n")
	if _, stderr, code := run(t, dir, "", "lint", "job.yaml"); code != 2 || !strings.Contains(stderr, "job.yaml:4:12: where: unknown column \"idd\"; did you mean \"id\"?\n") {
		t.Errorf("code %d %s", code, stderr)
	}
}
