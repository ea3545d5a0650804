package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), `{"id":1,"name":"Ada","x":1.5}
{"id":2,"name":"Bob","x":2.5}
{"id":3,"name":null,"x":3.5}
{"id":4,"name":"Eve","x":4.5}
`)
	write(t, filepath.Join(dir, "b.jsonl"), `{"id":5,"name":"New","x":5}
{"id":3,"name":"Cid","x":3.5}
{"id":4,"name":"Eve","x":4.5}
{"id":1,"name":"Ada ","x":1.5}
`)
	write(t, filepath.Join(dir, "types.jsonl"), `{"id":"1","name":"Ada","x":1.5,"more":true}
{"id":"2","name":"Bob","x":2.5,"more":true}
`)
	write(t, filepath.Join(dir, "twice.jsonl"), strings.Repeat(`{"id":1,"name":"Ada","x":1.5}`+"\n", 3))
	write(t, filepath.Join(dir, "empty.jsonl"), "")
	for _, tt := range []struct {
		name   string
		args   []string
		stdout string
		stderr string
		code   int
	}{
		{"rows", []string{"a.jsonl", "b.jsonl", "--key", "id"}, `~ id=1  name: "Ada" → "Ada "
- id=2  name=Bob  x=2.5
~ id=3  name: null → "Cid"
+ id=5  name=New  x=5
A has 4 rows, B has 4 rows: 1 removed, 1 added, 2 changed, 1 the same
`, "", 1},
		{"the same", []string{"a.jsonl", "a.jsonl | sort id desc", "--key=id"}, "A has 4 rows, B has 4 rows: they are the same\n", "", 0},
		{"the same without a key", []string{"a.jsonl", "a.jsonl | sort name | select x, id, name"}, "A has 4 rows, B has 4 rows: they are the same\n", "", 0},
		{"differing without a key", []string{"a.jsonl", "b.jsonl", "--most", "1"}, `- id=1  name=Ada  x=1.5
… and 5 differing rows more; --most shows them
A has 4 rows, B has 4 rows: 3 removed, 3 added, 0 changed, 1 the same
`, "", 1},
		{"two columns of a key", []string{"a.jsonl", "b.jsonl", "--key", "id,x", "--most", "0"},
			"… and 4 differing rows more; --most shows them\nA has 4 rows, B has 4 rows: 1 removed, 1 added, 2 changed, 1 the same\n", "", 1},
		{"types", []string{"a.jsonl | limit 2", "types.jsonl", "--key", "id"}, `columns
  ~  id    int64 → utf8
  +  more  bool  only in B
rows
A has 2 rows, B has 2 rows: the rows are the same in the columns that can be compared
`, "", 1},
		{"repeated keys", []string{"twice.jsonl", "a.jsonl | limit 1", "--key", "id"}, `- id=1  name=Ada  x=1.5
- id=1  name=Ada  x=1.5
A has 3 rows, B has 1 row: 2 removed, 0 added, 0 changed, 1 the same
1 key stands for more than one row; rows were paired as they are equal, then in their order
`, "", 1},
		{"an unknown key", []string{"a.jsonl", "b.jsonl", "--key", "ide"}, "", `--key: A has no column "ide" (did you mean "id"?)`, 2},
		{"a file that is gone", []string{"a.jsonl", "c.jsonl", "--key", "id"}, "", "c.jsonl", 2},
		{"a sink", []string{"a.jsonl", "b.jsonl | c.jsonl"}, "", "leave the sink out", 2},
		{"one argument", []string{"a.jsonl"}, "", "takes two datasets", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := run(t, dir, "", append([]string{"diff"}, tt.args...)...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("code %d\n%s%s\nwant %d\n%s%s", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// TestDiffLargerThanMemory compares rows that do not fit into the budget.
func TestDiffLargerThanMemory(t *testing.T) {
	dir := t.TempDir()
	var a, b strings.Builder
	const n = 200_000
	for i := range n {
		k := (i * 7919) % n // not in the order of the key
		fmt.Fprintf(&a, `{"id":%d,"text":"%0100d"}`+"\n", k, k)
		if k == 77_777 {
			k = n
		}
		fmt.Fprintf(&b, `{"id":%d,"text":"%0100d"}`+"\n", k, k%123_456)
	}
	write(t, filepath.Join(dir, "a.jsonl"), a.String())
	write(t, filepath.Join(dir, "b.jsonl"), b.String())
	stdout, stderr, code := run(t, dir, "", "--memory", "24MiB", "--temp-dir", dir, "diff", "a.jsonl", "b.jsonl", "--key", "id", "--most", "2")
	want := fmt.Sprintf("A has 200,000 rows, B has 200,000 rows: 1 removed, 1 added, %s changed, %s the same\n", "76,544", "123,455")
	if code != 1 || !strings.HasSuffix(stdout, want) {
		t.Errorf("code %d\n%s%s\nwant … %s", code, stdout, stderr, want)
	}
}
