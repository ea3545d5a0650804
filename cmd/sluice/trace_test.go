package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrace(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), `{"id":3,"n":"5","tags":["a","b"],"user":{"name":"Ada","age":36}}
{"id":1,"n":"x","tags":[],"user":{"name":"Bob","age":52}}
{"id":2,"n":"7","tags":["c"],"user":null}
{"id":4,"n":"8","tags":["d"],"user":null}
`)
	for _, tt := range []struct {
		name string
		args []string
		want string // lines that come in that order
	}{
		{"where and sort", []string{"a.jsonl | where id != 1 | sort id | select id | out.parquet"}, `── a.jsonl
read 3 rows
3      2  7       ["c"]
── where id != 1
3 rows in, 2 out
dropped row 2
── sort id
2 rows in, 2 out; in a run it sees all rows, here only these
·      2  7
·      3  5
── select id
leaves out n, tags, user
── out.parquet
a trace writes nothing`},
		{"failing rows", []string{"--sample", "4", "a.jsonl | with k = int(n) | drop tags"}, `read 4 rows
4 rows in, 3 out; adds k
1      3  5
3      2  7
failed 2: `},
		{"children", []string{"a.jsonl | unnest tags | select id, tags"}, `── unnest tags
3 rows in, 3 out; turns tags from list of string to string
1.1      3  5       a
1.2      3  5       b
3.1      2  7       c
dropped row 2`},
		{"more is read for a row at the end", []string{"--sample", "1", "a.jsonl | where id == 4"}, `read 4 rows, which are all: the first 1 gave no row at the end
… 3 more rows
4 rows in, 1 out
4      4
dropped rows 1, 2, 3`},
		{"no row", []string{"a.jsonl | where id > 9 | limit 2"}, `read 4 rows, which are all: the first 3 gave no row at the end
4 rows in, 0 out
dropped rows 1, 2, 3, 4
── limit 2
0 rows in, 0 out`},
		{"two sources", []string{"a.jsonl + a2.jsonl | limit 1"}, "── a.jsonl + a2.jsonl\n3 rows in, 1 out\ndropped rows 2, 3"},
		{"a job", []string{"run", "job.yaml"}, "── a.jsonl\n── where id > 1\n── out/\na trace writes nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(t, filepath.Join(dir, "a2.jsonl"), `{"id":9,"n":"1","tags":[],"user":null}`+"\n")
			write(t, filepath.Join(dir, "job.yaml"), "version: 1\nsource: a.jsonl\nsteps:\n  - where: id > 1\nsink: out/\n")
			stdout, stderr, code := run(t, dir, "", append([]string{"--trace"}, tt.args...)...)
			if code != 0 || stderr != "" {
				t.Fatalf("code %d\n%s%s", code, stdout, stderr)
			}
			rest := stdout
			for line := range strings.Lines(tt.want) {
				line = strings.TrimRight(line, "\n")
				_, after, ok := strings.Cut(rest, line)
				if !ok {
					t.Fatalf("it lacks %q, or has it before:\n%s", line, stdout)
				}
				rest = after
			}
		})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "out") || strings.HasPrefix(e.Name(), ".") {
			t.Errorf("a trace wrote %s", e.Name())
		}
	}
}

// TestTraceOfNarrowTerminals: what does not fit beside each other is written one value a line.
func TestTraceOfNarrowTerminals(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), `{"id":1,"text":"`+strings.Repeat("word ", 100)+`","user":{"name":"Ada","home":{"city":"Ulm"}}}`+"\n")
	c := command(t, dir, "--trace", "a.jsonl")
	c.Env = append(c.Env, "COLUMNS=40")
	out, err := c.Output()
	want := `── a.jsonl
read 1 row, which are all
1  id             1
   text           word word word word
                  word word word word
                  word word word word
                  word word word word w…
   user.name      Ada
   user.home.ci…  Ulm

`
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}

func TestTracePictures(t *testing.T) {
	dir := photos(t)
	stdout, stderr, code := run(t, dir, "", "--trace", "--sample=2", "--images=blocks", "photos/{astronaut,brick}.jpg | decode | where width > 1 | resize 8x8")
	if code != 0 || stderr != "" {
		t.Fatalf("code %d %s", code, stderr)
	}
	strips := strings.Count(stdout, "1  JPEG 512x512") + strings.Count(stdout, "1  pixels ")
	if blocks := strings.Count(stdout, "▀"); blocks < 3*2*18*9 || strips < 3 || !strings.Contains(stdout, "1  pixels 8x8x3") {
		t.Errorf("%d half blocks in %d strips:\n%s", blocks, strips, stdout)
	}
	for mode, sign := range map[string]string{"kitty": "\x1b_G", "sixel": "\x1bP0;1q\"1;1;", "none": "── "} {
		stdout, stderr, code := run(t, dir, "", "--trace", "--sample=1", "--images="+mode, "photos/astronaut.jpg")
		if code != 0 || !strings.Contains(stdout, sign) || strings.Contains(stdout, "▀") {
			t.Errorf("%s: code %d %s %.200q", mode, code, stderr, stdout)
		}
	}
	if _, stderr, code := run(t, dir, "", "--images=ascii", "--trace", "photos/astronaut.jpg"); code != 2 || !strings.Contains(stderr, `--images is "ascii"`) {
		t.Errorf("an unknown way: code %d %s", code, stderr)
	}
	if _, stderr, code := run(t, dir, "", "--sample", "3", "photos/astronaut.jpg"); code != 2 || !strings.Contains(stderr, "--sample is for --trace") {
		t.Errorf("--sample alone: code %d %s", code, stderr)
	}
}

// TestInspectExif writes a picture with an EXIF block by hand.
func TestInspectExif(t *testing.T) {
	dir := photos(t)
	plain, err := os.ReadFile(filepath.Join(dir, "photos", "brick.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	// A little-endian TIFF structure: Make "Leica" and Orientation 6, and the end of the directories.
	tiff := "II*\x00\x08\x00\x00\x00" + "\x02\x00" +
		"\x0f\x01\x02\x00\x06\x00\x00\x00\x26\x00\x00\x00" +
		"\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00" +
		"\x00\x00\x00\x00" + "Leica\x00"
	exif := "Exif\x00\x00" + tiff
	segment := "\xff\xe1" + string([]byte{0, byte(len(exif) + 2)}) + exif
	write(t, filepath.Join(dir, "camera.jpg"), string(plain[:2])+segment+string(plain[2:]))
	stdout, stderr, code := run(t, dir, "", "inspect", "--images=blocks", "camera.jpg")
	for _, want := range []string{"camera.jpg: jpeg image, ", "512 × 512 pixels (0.3 megapixels), grey, 8 bits\n", "\nEXIF\n", "Make         Leica\n",
		"Orientation  6 (on its left side)\n", "▀"} {
		if code != 0 || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("code %d, it lacks %q:\n%s%s", code, want, stdout, stderr)
		}
	}
	stdout, _, code = run(t, dir, "", "inspect", "photos/broken/truncated.jpg")
	if code != 0 || !strings.Contains(stdout, "It does not decode: data is truncated") {
		t.Errorf("a truncated picture: code %d\n%s", code, stdout)
	}
}

func TestInspectFolder(t *testing.T) {
	dir := events(t, 3)
	write(t, filepath.Join(dir, "in", "a.jsonl"), "{\"id\":1}\n")
	write(t, filepath.Join(dir, "in", "sub", "b.jsonl"), "{\"id\":2}\n{\"id\":3}\n")
	stdout, stderr, code := run(t, dir, "", "inspect", "in")
	want := "in: 2 files, 27 B\n\nformat  files  bytes  reader  largest\n.jsonl      2   27 B  jsonl   in/sub/b.jsonl, 18 B\n\nColumns\n  id  int64\n\nFirst rows\n" +
		"   id\nint64\n    1\n    2\n    3\n3 rows\n"
	if code != 0 || stdout != want || stderr != "" {
		t.Errorf("code %d\n%s%s\nwant\n%s", code, stdout, stderr, want)
	}
	write(t, filepath.Join(dir, "in", "c.csv"), "a\n1\n")
	stdout, _, code = run(t, dir, "", "inspect", "in/")
	if code != 0 || !strings.Contains(stdout, "give a pattern, such as 'in/**/*.jsonl'") || strings.Contains(stdout, "First rows") {
		t.Errorf("two formats: code %d\n%s", code, stdout)
	}
	if err := os.Mkdir(filepath.Join(dir, "none"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := run(t, dir, "", "inspect", "none"); code != 2 || !strings.Contains(stderr, "inspect none: ") {
		t.Errorf("an empty folder: code %d %s", code, stderr)
	}
}
