package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRetryWithAnotherPipeline(t *testing.T) {
	for _, target := range []string{"out.parquet", "out/"} {
		dir := photos(t)
		strict := strings.Replace(rottenPhotos, "| decode |", "| decode max_pixels=300000 |", 1)
		if _, stderr, code := run(t, dir, "", "--quiet", "--on-error", "dead-letter", strict+target); code != 3 {
			t.Fatalf("code %d, %s", code, stderr)
		}
		before := letters(t, dir, target)
		if len(before) <= len(rotten) {
			t.Fatalf("dead letters %q", before)
		}
		_, stderr, code := run(t, dir, "", "retry", target, strings.TrimSuffix(rottenPhotos, "| "))
		if code != 3 || !strings.Contains(stderr, "4 rows set aside") {
			t.Fatalf("retry: code %d, %s", code, stderr)
		}
		if got := letters(t, dir, target); !slices.Equal(got, rotten) {
			t.Errorf("dead letters after the retry %q", got)
		}
		if _, stderr, code = run(t, dir, "", "--quiet", "--on-error", "skip", rottenPhotos+"whole.parquet"); code != 0 {
			t.Fatal(stderr)
		}
		want := column(t, dir, "whole.parquet")
		if got := column(t, dir, strings.TrimSuffix(target, "/")); !slices.Equal(got, want) {
			t.Errorf("%d rows after the retry, want the %d of a run with that pipeline", len(got), len(want))
		}
		for range 2 { // with the pipeline of the run: nothing comes of it, and nothing comes twice
			if _, stderr, code = run(t, dir, "", "retry", target); code != 3 || !strings.Contains(stderr, "wrote 0 rows") {
				t.Errorf("retry again: code %d, %s", code, stderr)
			}
		}
		if got := column(t, dir, strings.TrimSuffix(target, "/")); !slices.Equal(got, want) {
			t.Errorf("%d rows after three retries", len(got))
		}
		if _, stderr, code = run(t, dir, "", "--on-error", "dead-letter", strict+target); code != 0 || !strings.Contains(stderr, "already complete") {
			t.Errorf("the same command again: code %d, %s", code, stderr)
		}
	}
}

// TestRetryOfAFileMendedInPlace: a failed row is a row of one version of a file.
func TestRetryOfAFileMendedInPlace(t *testing.T) {
	for _, broken := range []struct{ file, pipeline, text string }{
		{"in/b.jsonl", "in/*.jsonl | out.jsonl", `{"n": oops}` + "\n"},
		{"photos/broken/truncated.jpg", "photos/broken/truncated.jpg + photos/cat.jpg | decode | resize 4x4 | select path | out.jsonl", ""},
	} {
		dir := photos(t)
		write(t, filepath.Join(dir, "in/a.jsonl"), `{"n":1}`+"\n")
		name := filepath.Join(dir, broken.file)
		if broken.text != "" {
			write(t, name, broken.text)
		}
		if _, stderr, code := run(t, dir, "", "--quiet", "--on-error", "dead-letter", broken.pipeline); code != 3 {
			t.Fatalf("code %d, %s", code, stderr)
		}
		was, before := column(t, dir, "out.jsonl"), letters(t, dir, "out.jsonl")
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		old, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, name, `{"n": 2}`+"\n")
		_, stderr, code := run(t, dir, "", "retry", "out.jsonl")
		for _, want := range []string{broken.file, "is not what the run read", "Put the old file back", "--append", "--overwrite"} {
			if code != 2 || !strings.Contains(stderr, want) {
				t.Errorf("%s: code %d, no %q in %s", broken.file, code, want, stderr)
			}
		}
		if got := column(t, dir, "out.jsonl"); !slices.Equal(got, was) || !slices.Equal(letters(t, dir, "out.jsonl"), before) {
			t.Errorf("%s: a refused retry changed something: %q", broken.file, got)
		}
		write(t, name, string(old))
		if err := os.Chtimes(name, time.Now(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := run(t, dir, "", "--quiet", "retry", "out.jsonl"); code != 3 || stderr != "" {
			t.Errorf("%s: with the old file: code %d, %s", broken.file, code, stderr)
		}
		if got := letters(t, dir, "out.jsonl"); !slices.Equal(got, before) {
			t.Errorf("%s: dead letters %q, before %q", broken.file, got, before)
		}
	}
}

// unnested makes rows of which some children fail a cast.
func unnested(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range 500 {
		second := fmt.Sprint(1000 + i)
		if i%7 == 3 {
			second = "x"
		}
		fmt.Fprintf(&b, "{\"n\":%d,\"t\":[\"%d\",\"%s\",\"%d\"]}\n", i, i, second, 2000+i)
	}
	write(t, filepath.Join(dir, "u.jsonl"), b.String())
	return dir
}

// TestRetryOfChildren: the siblings of a failed row are in the result already.
func TestRetryOfChildren(t *testing.T) {
	dir := unnested(t)
	if _, stderr, code := run(t, dir, "", "--quiet", "--on-error", "dead-letter", "u.jsonl | unnest t | with q = int(t) | out.parquet"); code != 3 {
		t.Fatalf("code %d, %s", code, stderr)
	}
	failed := 0
	for i := range 500 {
		if i%7 == 3 {
			failed++
		}
	}
	before := letters(t, dir, "out.parquet")
	if len(before) != failed || !strings.Contains(before[0], "[1] ") {
		t.Fatalf("%d dead letters, want %d: %q", len(before), failed, before[0])
	}
	// The whole row fails now: what was set aside are still the children.
	if _, stderr, code := run(t, dir, "", "--quiet", "retry", "out.parquet", `u.jsonl | with n = int(string(n) + "x") | unnest t | with q = int(t)`); code != 3 {
		t.Fatalf("code %d, %s", code, stderr)
	}
	if after := letters(t, dir, "out.parquet"); len(after) != failed || after[0][:strings.Index(after[0], " ")] != before[0][:strings.Index(before[0], " ")] {
		t.Fatalf("%d dead letters, want %d: %q", len(after), failed, after[0])
	}
	_, stderr, code := run(t, dir, "", "retry", "out.parquet", "u.jsonl | unnest t | with q = int(length(t))")
	if code != 0 || !strings.Contains(stderr, fmt.Sprintf("wrote %d rows", failed)) {
		t.Fatalf("code %d, %s", code, stderr)
	}
	if got := column(t, dir, "out.parquet | select n, t"); len(got) != 1500 || len(slices.Compact(slices.Clone(got))) != 1500 {
		t.Errorf("%d rows, %d different", len(got), len(slices.Compact(slices.Clone(got))))
	}
	if got := column(t, dir, `out.parquet | where t == "x"`); len(got) != failed {
		t.Errorf("%d rows came of those that failed, want %d", len(got), failed)
	}
	if _, stderr, code = run(t, dir, "", "retry", "out.parquet"); code != 0 || !strings.Contains(stderr, "no failed row of out.parquet waits") {
		t.Errorf("code %d, %s", code, stderr)
	}
}

func TestRetryRefusals(t *testing.T) {
	dir := unnested(t)
	write(t, filepath.Join(dir, "other.jsonl"), `{"n":1,"t":["1"]}`+"\n")
	const cast = "u.jsonl | unnest t | with q = int(t) | "
	if _, stderr, code := run(t, dir, "", "--quiet", "--on-error", "dead-letter", cast+"out.parquet"); code != 3 {
		t.Fatalf("code %d, %s", code, stderr)
	}
	if _, stderr, code := run(t, dir, "", "--quiet", "--on-error", "dead-letter", cast+"sort q | sorted.parquet"); code != 3 {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"out.parquet", cast + "limit 5"}, "limit: which rows it passes on depends on the rows before them"},
		{[]string{"out.parquet", cast + "sort q"}, "sort: it works on all rows together"},
		{[]string{"sorted.parquet", cast + "sorted.parquet"}, "sort: it works on all rows together"},
		{[]string{"out.parquet", strings.Replace(cast, "u.jsonl", "other.jsonl", 1) + "out.parquet"}, "reads something else than the run did"},
		{[]string{"out.parquet", "u.jsonl | unnest t"}, "the columns of the result may not"},
		{[]string{"out.parquet", cast + "elsewhere.parquet"}, "its rows go to "},
		{[]string{"out.parquet", "u.jsonl | unnst t"}, "did you mean \"unnest\""},
		{[]string{"20200101T000000-abcdefgh"}, "no run of that name is known"},
		{[]string{"other.jsonl"}, "is no result of Sluice"},
		{[]string{"out.parquet", "--overwrite"}, "takes neither --overwrite nor --append"},
	} {
		if _, stderr, code := run(t, dir, "", append([]string{"retry"}, tt.args...)...); code != 2 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: code %d, %s\nwant %s", tt.args, code, stderr, tt.want)
		}
	}
	if _, stderr, code := run(t, dir, "", "--on-error", "dead-letter", strings.TrimSuffix(cast, "| ")); code != 2 || !strings.Contains(stderr, "beside which there is no place") {
		t.Errorf("standard output: code %d, %s", code, stderr)
	}
	if _, stderr, code := run(t, dir, "", "--quiet", "--overwrite", "u.jsonl | out.parquet"); code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := run(t, dir, "", "retry", "out.parquet"); code != 0 || !strings.Contains(stderr, "no failed row") {
		t.Errorf("after an overwrite: code %d, %s", code, stderr)
	}
}

// TestRunsThatWereAppended: each has failed rows of its own, of files that its ordinals tell apart.
func TestRunsThatWereAppended(t *testing.T) {
	for _, target := range []string{"out.parquet", "out/"} {
		dir := t.TempDir()
		var ids []string
		var want []string
		for k := range 3 {
			write(t, filepath.Join(dir, fmt.Sprintf("%d.jsonl", k)), fmt.Sprintf("{\"n\":%d,\"t\":\"1\"}\n{\"n\":%d,\"t\":\"x\"}\n", 10*k, 10*k+1))
			want = append(want, fmt.Sprintf(`{"n":%d}`, 10*k), fmt.Sprintf(`{"n":%d}`, 10*k+1))
			if _, stderr, code := run(t, dir, "", "--quiet", "--append", "--on-error", "dead-letter", fmt.Sprintf("%d.jsonl | with q = int(t) | %s", k, target)); code != 3 {
				t.Fatalf("code %d, %s", code, stderr)
			}
			stdout, _, _ := run(t, dir, "", "runs", target)
			lines := strings.Split(strings.TrimSpace(stdout), "\n")
			ids = append(ids, strings.Fields(lines[len(lines)-1])[0])
		}
		if got := letters(t, dir, target); len(got) != 3 {
			t.Fatalf("dead letters %q", got)
		}
		if _, stderr, code := run(t, dir, "", "retry", target); code != 2 || !strings.Contains(stderr, "3 runs have failed rows on this result; name one of them: "+ids[0]) {
			t.Errorf("code %d, %s", code, stderr)
		}
		for _, k := range []int{1, 0, 2} {
			if _, stderr, code := run(t, dir, "", "retry", ids[k], fmt.Sprintf(`%d.jsonl | with q = int(t == "x" ? "7" : t)`, k)); code != 0 || !strings.Contains(stderr, "wrote 1 row ") {
				t.Errorf("retry of run %d: code %d, %s", k, code, stderr)
			}
		}
		slices.Sort(want)
		if got := column(t, dir, strings.TrimSuffix(target, "/")+" | select n"); !slices.Equal(got, want) {
			t.Errorf("%s: rows %q, want %q", target, got, want)
		}
		if _, stderr, code := run(t, dir, "", "--append", "--on-error", "dead-letter", "2.jsonl | with q = int(t) | "+target); code != 0 || !strings.Contains(stderr, "already complete") {
			t.Errorf("the last command again: code %d, %s", code, stderr)
		}
	}
}

// TestIncrementalOnOneFile: appended rows are joined into the one file, and that is no new beginning: what was read before stays read,
// also after a retry, whose log has the files of failed rows only.
func TestIncrementalOnOneFile(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for k := range 4 {
		write(t, filepath.Join(dir, fmt.Sprintf("in/%d.jsonl", k)), fmt.Sprintf("{\"n\":%d,\"t\":\"1\"}\n{\"n\":%d,\"t\":\"x\"}\n", 10*k, 10*k+1))
		want = append(want, fmt.Sprintf(`{"n":%d}`, 10*k), fmt.Sprintf(`{"n":%d}`, 10*k+1))
		if _, stderr, code := run(t, dir, "", "--quiet", "--incremental", "--on-error", "dead-letter", "in/*.jsonl | with q = int(t) | out.parquet"); code != 3 {
			t.Fatalf("night %d: code %d, %s", k, code, stderr)
		}
		if _, stderr, code := run(t, dir, "", "--quiet", "retry", "out.parquet", "in/*.jsonl | with q = int(length(t))"); code != 0 {
			t.Fatalf("night %d: code %d, %s", k, code, stderr)
		}
	}
	slices.Sort(want)
	if got := column(t, dir, "out.parquet | select n"); !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
}
