package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

// TestKillWithDeadLetters: whatever a kill leaves, the next run has exactly the rows and exactly the dead letters.
func TestKillWithDeadLetters(t *testing.T) {
	dir := t.TempDir()
	var rows, dead []string
	for f := range 8 {
		var b strings.Builder
		name := fmt.Sprintf("in/%d.jsonl", f)
		for i := range 15_000 {
			n := f*15_000 + i
			switch {
			case n%1000 == 7:
				dead = append(dead, fmt.Sprintf("%s@%d[] value is no int64", name, b.Len()))
				b.WriteString("{\"n\":oops}\n")
			case n%1000 == 500:
				dead = append(dead, fmt.Sprintf("%s@%d[] the value does not fit; try_cast gives null instead", name, b.Len()))
				fmt.Fprintf(&b, "{\"n\":%d,\"t\":\"x\"}\n", n)
			default:
				rows = append(rows, fmt.Sprintf(`{"n":%d,"t":"%d","q":%d}`, n, n%10, n%10))
				fmt.Fprintf(&b, "{\"n\":%d,\"t\":\"%d\"}\n", n, n%10)
			}
		}
		write(t, filepath.Join(dir, name), b.String())
	}
	slices.Sort(rows)
	slices.Sort(dead)
	rounds := 2
	if os.Getenv("SLUICE_CHAOS") != "" {
		rounds = 40
	}
	kills := 0
	for _, kind := range [][]string{{"a.jsonl"}, {"b/", "--to", "jsonl"}, {"c/", "--to", "jsonl", "--ordered", "--seed", "1"}, {"d/", "--to", "jsonl", "--ordered"}} {
		for round := range rounds {
			r := rand.New(rand.NewPCG(3, uint64(round)))
			target := fmt.Sprint(round) + kind[0]
			args := append([]string{"--quiet", "--on-error", "dead-letter", "--commit-every", "10ms", "--part-size", "300kB", "--parallel",
				fmt.Sprint(1 + r.IntN(4)), "in/*.jsonl | with q = int(t) | " + target}, kind[1:]...)
			for range 3 {
				c := command(t, dir, args...)
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				timer := time.AfterFunc(time.Duration(20+r.IntN(250))*time.Millisecond, func() { _ = c.Process.Kill() })
				if err := c.Wait(); err != nil && !c.ProcessState.Exited() {
					kills++
				}
				timer.Stop()
			}
			if _, stderr, code := run(t, dir, "", args...); code != 3 && code != 0 {
				t.Fatalf("%s: code %d, %s", target, code, stderr)
			}
			if got := column(t, dir, strings.TrimSuffix(target, "/")); !slices.Equal(got, rows) {
				t.Fatalf("%s: %d rows after the kills, want %d", target, len(got), len(rows))
			}
			if got := letters(t, dir, target); !slices.Equal(got, dead) {
				t.Fatalf("%s: %d dead letters after the kills, want %d", target, len(got), len(dead))
			}
		}
	}
	if kills == 0 {
		t.Error("no run was killed: the test shows nothing")
	}
	t.Logf("%d kills", kills)
}

// TestKillOfRetries: a retry that was killed is begun anew, and its rows come once.
func TestKillOfRetries(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	var want []string
	for n := range 60_000 {
		text, q := fmt.Sprint(n%10), n%10
		if n%3 == 1 {
			text, q = "x", -1
		}
		fmt.Fprintf(&b, "{\"n\":%d,\"t\":\"%s\"}\n", n, text)
		want = append(want, fmt.Sprintf(`{"n":%d,"t":"%s","q":%d}`, n, text, q))
	}
	write(t, filepath.Join(dir, "in.jsonl"), b.String())
	slices.Sort(want)
	kills := 0
	for _, target := range []string{"a.jsonl", "b/"} {
		args := []string{"--quiet", "--to", "jsonl", "--part-size", "200kB", "--commit-every", "10ms"}
		if _, stderr, code := run(t, dir, "", append(args, "--on-error", "dead-letter", "in.jsonl | with q = int(t) | "+target)...); code != 3 {
			t.Fatalf("code %d, %s", code, stderr)
		}
		if n := len(letters(t, dir, target)); n != 20_000 {
			t.Fatalf("%d dead letters", n)
		}
		again := append(args, "retry", target, `in.jsonl | with q = int(t == "x" ? "-1" : t)`)
		for i := range 6 {
			c := command(t, dir, again...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(60+60*i)*time.Millisecond, func() { _ = c.Process.Kill() })
			if err := c.Wait(); err != nil && !c.ProcessState.Exited() {
				kills++
			}
			timer.Stop()
		}
		if _, stderr, code := run(t, dir, "", again...); code != 0 {
			t.Fatalf("code %d, %s", code, stderr)
		}
		if got := column(t, dir, strings.TrimSuffix(target, "/")); !slices.Equal(got, want) {
			t.Fatalf("%s: %d rows after the kills, want %d", target, len(got), len(want))
		}
		if got := letters(t, dir, target); len(got) > 0 && got[0] != "" {
			t.Errorf("%s: %d dead letters are left", target, len(got))
		}
	}
	if kills == 0 {
		t.Error("no retry was killed: the test shows nothing")
	}
	t.Logf("%d kills", kills)
}
