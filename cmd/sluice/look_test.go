package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func lookFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.jsonl", "{\"id\":1,\"x\":1}\n{\"id\":2,\"x\":2.5}\n{\"id\":3}\n")
	write("odd [1].jsonl", "{\"id\":1}\n{\"id\":\"one\"}\n")
	write("t.csv", "a,b\n1,x\n2,y\n")
	write("empty.jsonl", "")
	write("broken.parquet", "PAR1 and then nothing")
	write("broken.png", "\x89PNG\r\n\x1a\nno")
	img := image.NewPaletted(image.Rect(0, 0, 7, 5), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	write("wrong-name.jpg", b.String())
	if _, stderr, code := run(t, dir, "", "--quiet", "a.jsonl | p.parquet"); code != 0 {
		t.Fatal(stderr)
	}
	return dir
}

func TestLook(t *testing.T) {
	dir := lookFolder(t)
	tests := []struct {
		args   []string
		stdin  string
		code   int
		stdout string // exact unless it begins with ~, then each line must be contained
		stderr string // contained
	}{
		{[]string{"schema", "a.jsonl"}, "", 0, "id  int64\nx   float64\n", ""},
		{[]string{"schema", "a.jsonl | with y = id + 1 | drop x"}, "", 0, "id  int64\ny   int64\n", ""},
		{[]string{"schema", "t.csv"}, "", 0, "a  int64\nb  utf8\n", ""},
		{[]string{"schema", "*.nothing"}, "", 2, "", "*.nothing"},
		{[]string{"schema", "a.jsonl | out.parquet"}, "", 2, "", "leave the sink out"},
		{[]string{"schema"}, "", 2, "", "takes one source or pipeline"},
		{[]string{"head", "-n", "2", "a.jsonl"}, "", 0, "   id        x\nint64  float64\n    1        1\n    2      2.5\n2 rows\n", ""},
		{[]string{"head", "--to", "jsonl", "a.jsonl | where id > 2"}, "", 0, "{\"id\":3,\"x\":null}\n", ""},
		{[]string{"head", "-n", "0", "a.jsonl"}, "", 2, "", "--rows is 0"},
		{[]string{"head", "- | limit 1"}, "{\"a\":5}\n{\"a\":6}\n", 0, "    a\nint64\n    5\n1 row\n", ""},
		{[]string{"count", "a.jsonl"}, "", 0, "3\n", ""},
		{[]string{"count", "p.parquet"}, "", 0, "3\n", ""},
		{[]string{"count", "[ap].{jsonl,parquet} | where x > 2"}, "", 2, "", ""},
		{[]string{"count", "a.jsonl | where x > 2"}, "", 0, "1\n", ""},
		{[]string{"count", "empty.jsonl"}, "", 0, "0\n", ""},
		{[]string{"count", "-"}, "{\"a\":5}\n{\"a\":6}\n", 0, "2\n", ""},
		{[]string{"inspect", "p.parquet"}, "", 0, "~p.parquet: Parquet\n3 rows in 1 row group, written by sluice\nid  int64\nINT64\nSNAPPY\n2.5\nFirst rows\n3 rows\n", ""},
		{[]string{"inspect", "a.jsonl"}, "", 0, "~a.jsonl: JSON lines\nsample of 3 lines\nx       float64  line 2: 2.5\nid      int64    line 1: 1\nFirst rows\n", ""},
		{[]string{"inspect", "odd [1].jsonl"}, "", 0, "~none: the values have no common type\nline 2: \"one\"\npass schema=\"id:string\"\n", ""},
		{[]string{"inspect", "t.csv"}, "", 0, "~t.csv: CSV\ncolumn  type   decided by\nline 2: 1\nFirst rows\n2 rows\n", ""},
		{[]string{"inspect", "wrong-name.jpg"}, "", 0, "~png image\n7 × 5 pixels (0.0 megapixels), palette of 2 colours\n", ""},
		{[]string{"inspect", "empty.jsonl"}, "", 0, "empty.jsonl: an empty file\n", ""},
		{[]string{"inspect", "broken.parquet"}, "", 1, "", "inspect broken.parquet: open parquet file: "},
		{[]string{"inspect", "broken.png"}, "", 1, "", "inspect broken.png: read the header of the image: "},
		{[]string{"inspect", "no.parquet"}, "", 2, "", "inspect no.parquet: no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			stdout, stderr, code := run(t, dir, tt.stdin, tt.args...)
			ok := stdout == tt.stdout
			if rest, some := strings.CutPrefix(tt.stdout, "~"); some {
				ok = true
				for line := range strings.Lines(rest) {
					ok = ok && strings.Contains(stdout, strings.TrimSuffix(line, "\n"))
				}
			}
			if code != tt.code || !ok || !strings.Contains(stderr, tt.stderr) || tt.code == 0 && stderr != "" {
				t.Errorf("code %d, want %d\nstdout:\n%s\nwant:\n%s\nstderr:\n%s", code, tt.code, stdout, tt.stdout, stderr)
			}
		})
	}
}
