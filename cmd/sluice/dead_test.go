package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// letters returns what `errors --json` prints of a result: where each failed row is, and its class.
func letters(t *testing.T, dir, what string) (out []string) {
	t.Helper()
	stdout, stderr, code := run(t, dir, "", "errors", "--json", what)
	if code != 0 || stderr != "" {
		t.Fatalf("errors %s: code %d, %s", what, code, stderr)
	}
	for sc := bufio.NewScanner(strings.NewReader(stdout)); sc.Scan(); {
		var l struct {
			Path, Class, Operator, Message string
			Attempts                       int
			Identity                       struct {
				Position uint64
				Child    []uint32
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil || l.Operator == "" || l.Message == "" || l.Attempts < 1 {
			t.Fatalf("a dead letter: %s, %v", sc.Text(), err)
		}
		out = append(out, fmt.Sprintf("%s@%d%v %s", l.Path, l.Identity.Position, l.Identity.Child, l.Class))
	}
	slices.Sort(out)
	return out
}

// column returns the sorted JSON lines of a column of a result.
func column(t *testing.T, dir, pipeline string) []string {
	t.Helper()
	stdout, stderr, code := run(t, dir, "", "--quiet", pipeline)
	if code != 0 {
		t.Fatalf("%s: code %d, %s", pipeline, code, stderr)
	}
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	slices.Sort(lines)
	return lines
}

const rottenPhotos = "photos/**/*.{jpg,png,webp} | decode | resize 16x16 | encode png | "

var rotten = []string{
	"photos/broken/bomb.png@0[] too large", "photos/broken/empty.jpg@0[] empty file",
	"photos/broken/not-an-image.jpg@0[] not an image", "photos/broken/truncated.jpg@0[] truncated",
}

func TestRottenPhotosAreSetAside(t *testing.T) {
	for _, target := range []string{"out.parquet", "out/"} {
		dir := photos(t)
		_, stderr, code := run(t, dir, "", "--on-error", "dead-letter", rottenPhotos+target)
		if code != 3 || !strings.Contains(stderr, "4 rows set aside in ") || !strings.Contains(stderr, "sluice errors "+target) {
			t.Fatalf("code %d, %s", code, stderr)
		}
		if got := letters(t, dir, target); !slices.Equal(got, rotten) {
			t.Errorf("dead letters %q", got)
		}
		if n := len(column(t, dir, strings.TrimSuffix(target, "/")+" | select path")); n != 19 {
			t.Errorf("%d rows in the result", n)
		}
		err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
			if strings.Contains(p, "/dead/") && filepath.Ext(p) != "" {
				t.Errorf("%s has an extension", p)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		stdout, _, code := run(t, dir, "", "errors", target)
		for _, want := range []string{": 4 rows set aside; try them again with: sluice retry 2", "\n  decode: truncated: 1 row\n    photos/broken/truncated.jpg: "} {
			if code != 0 || !strings.Contains(stdout, want) {
				t.Errorf("code %d, no %q in\n%s", code, want, stdout)
			}
		}
		stdout, _, code = run(t, dir, "", "runs", target)
		if code != 0 || !strings.Contains(stdout, "finished  19    4 (set aside)") {
			t.Errorf("runs: code %d\n%s", code, stdout)
		}
		stdout, _, code = run(t, dir, "", "inspect", target)
		for _, want := range []string{"19 rows in 1 file", "  path utf8\n", "manifest 1", "source 0: 23 files", "source 0, files 0 to 22: positions 0 to 1"} {
			if code != 0 || !strings.Contains(stdout, want) {
				t.Errorf("inspect: code %d, no %q in\n%s", code, want, stdout)
			}
		}
		if _, stderr, code = run(t, dir, "", "--on-error", "dead-letter", rottenPhotos+target); code != 0 || !strings.Contains(stderr, "already complete") {
			t.Errorf("the same command again: code %d, %s", code, stderr)
		}
	}
}

// TestRunsAreFoundByID: also from another folder, where relative paths mean something else.
func TestRunsAreFoundByID(t *testing.T) {
	dir := photos(t)
	if _, stderr, code := run(t, dir, "", "--quiet", "--on-error", "dead-letter", rottenPhotos+"out/"); code != 3 {
		t.Fatalf("code %d, %s", code, stderr)
	}
	stdout, _, _ := run(t, dir, "", "runs", "out")
	id := strings.Fields(strings.Split(stdout, "\n")[1])[0]
	elsewhere := t.TempDir()
	if stdout, _, code := run(t, elsewhere, "", "runs"); code != 0 || !strings.Contains(stdout, id) || !strings.Contains(stdout, filepath.Join(dir, "out")+"/") {
		t.Errorf("runs: code %d\n%s", code, stdout)
	}
	if got := letters(t, elsewhere, id); !slices.Equal(got, rotten) {
		t.Errorf("dead letters %q", got)
	}
	if _, stderr, code := run(t, elsewhere, "", "retry", id); code != 3 || !strings.Contains(stderr, "4 rows set aside") {
		t.Errorf("retry: code %d, %s", code, stderr)
	}
	if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if stdout, _, code := run(t, elsewhere, "", "runs"); code != 0 || strings.Contains(stdout, id) {
		t.Errorf("runs of a result that is gone: code %d\n%s", code, stdout)
	}
}

func TestCeilings(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ rows, every int }{"few": {100, 10}, "many": {5000, 50}} {
		var b strings.Builder
		for i := range c.rows {
			if i%c.every == 1 {
				b.WriteString("{oops\n")
			} else {
				fmt.Fprintf(&b, "{\"n\":%d}\n", i)
			}
		}
		write(t, filepath.Join(dir, name+".jsonl"), b.String())
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--on-error", "dead-letter", "--max-errors", "10", "few.jsonl | 1.jsonl"}, 3, "10 rows set aside"},
		{[]string{"--on-error", "dead-letter", "--max-errors", "9", "few.jsonl | 2.jsonl"}, 1, "10 of "},
		{[]string{"--on-error", "skip", "--max-errors", "9", "few.jsonl | 3.jsonl"}, 1, "more than --max-errors 9 allows"},
		{[]string{"--on-error", "skip", "--max-error-rate", "10%", "few.jsonl | 4.jsonl"}, 0, "10 rows failed"},
		{[]string{"--on-error", "skip", "--max-error-rate", "9%", "few.jsonl | 5.jsonl"}, 1, "10 of 100 rows failed, more than --max-error-rate 9% allows"},
		{[]string{"--on-error", "dead-letter", "--max-error-rate", "2%", "many.jsonl | 6.jsonl"}, 3, "100 rows set aside"},
		{[]string{"--on-error", "dead-letter", "--max-error-rate", "0.01", "many.jsonl | 7.jsonl"}, 1, "more than --max-error-rate 1% allows"},
		{[]string{"--on-error", "skip", "--max-errors", "3", "many.jsonl"}, 1, "the last one: read jsonl: many.jsonl"},
	} {
		_, stderr, code := run(t, dir, "", tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: code %d, %s\nwant %d, %s", tt.args, code, stderr, tt.code, tt.want)
		}
		target := tt.args[len(tt.args)-1]
		target = target[strings.LastIndex(target, " ")+1:]
		if _, err := os.Stat(filepath.Join(dir, target)); target != "many.jsonl" && (err == nil) == (tt.code == 1) {
			t.Errorf("%q: %s: %v", tt.args, target, err)
		}
	}
}
