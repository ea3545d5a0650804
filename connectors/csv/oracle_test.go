package csv_test

import (
	stdcsv "encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/file"
)

// oracle reads text with encoding/csv, with lazy quotes as ours are where quotes stand in fields without quotes. ok is false where the two
// are meant to differ: text behind a closing quote, which is an error here and text there, and quotes that never close.
func oracle(text string, comment rune) (rows [][]string, ok bool) {
	r := stdcsv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\xef\xbb\xbf")))
	r.FieldsPerRecord = -1
	r.Comment = comment
	for {
		rec, err := r.Read()
		if err == io.EOF {
			return rows, true
		}
		if err != nil {
			return nil, false
		}
		rows = append(rows, rec)
	}
}

// checkOracle compares the records of a text, cut into splits of a size, with those of encoding/csv. Differences that are meant: a carriage
// return before a line end in quotes stays, and one at the end of the file is text.
func checkOracle(t *testing.T, dir, text string, comment string, size int64) {
	t.Helper()
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") || strings.HasSuffix(text, "\r") {
		return
	}
	want, ok := oracle(text, []rune(comment + "\x00")[0])
	if !ok || len(want) == 0 {
		return
	}
	columns := 0
	for _, rec := range want {
		columns = max(columns, len(rec))
	}
	if int64(columns)*int64(len(text))/size > 1<<18 { // every split makes every column: thousands of splits of thousands of columns only take long
		return
	}
	var names []string
	for i := range columns {
		names = append(names, fmt.Sprintf("c%d:string", i))
	}
	write(t, dir, map[string]string{"in.csv": text})
	rt := connectortest.NewRuntime(t)
	opt := csv.Options{Header: new(false), Schema: strings.Join(names, ","), Ragged: csv.RaggedNull, Invalid: csv.InvalidReplace, Comment: comment}
	rows := connectortest.ReadAll(t, open(t, file.Local{}, dir+"/in.csv", opt, size), rt)
	if len(rows) != len(want) || len(rt.Failures()) > 0 {
		t.Fatalf("split size %d: %d records, want %d; failures %v\n%q", size, len(rows), len(want), rt.Failures(), text)
	}
	for i, rec := range want {
		var s strings.Builder
		for k := range columns {
			v := ""
			if k < len(rec) {
				v = string([]rune(rec[k]))
			}
			fmt.Fprintf(&s, "c%d=%q\n", k, v)
		}
		got := strings.ReplaceAll(strings.ReplaceAll(rows[i].Values, "=null\n", "=\"\"\n"), `\r\n`, `\n`)
		if got != s.String() {
			t.Fatalf("split size %d, record %d is\n%swant\n%s%q", size, i, got, s.String(), text)
		}
	}
}

// TestOracle reads random texts made of the characters that matter.
func TestOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	parts := []string{`"`, `""`, ",", "\n", "\r\n", "a", "é", "1.5", " ", "\"x\ny\"", ",\"", "\",", "\"\n", "#", "\n#"}
	dir := t.TempDir()
	for i := range 1000 {
		var b strings.Builder
		for range rng.IntN(25) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		checkOracle(t, dir, b.String(), []string{"", "#"}[i%2], []int64{1 << 20, 1, 3, 10}[i%4])
	}
}

// FuzzOracle is TestOracle over any bytes.
func FuzzOracle(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "\"a\n\"\"b\",c\r\n,\n", "\xef\xbb\xbf\"x\"\n", "5\" pipe,\"\"\n", "# no\na"} {
		f.Add(s, uint8(2), false)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string, cut uint8, comments bool) {
		comment := ""
		if comments {
			comment = "#"
		}
		checkOracle(t, dir, text, comment, int64(cut)+1)
	})
}

// FuzzRead reads any bytes in any dialect, with inference: no panic, no leak, and the same rows and failures however the file is cut.
func FuzzRead(f *testing.F) {
	f.Add("id,at\n1,2024-01-01\nx,\n", "", "", ",", uint8(3), true)
	f.Add("a\\|b|\"c\n", `\`, "#", "|", uint8(1), false)
	f.Add("\xff\xfea\x00\n\x001\x00", "", "", ",", uint8(1), true)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, escape, comment, delim string, cut uint8, header bool) {
		opt := csv.Options{Escape: escape, Comment: comment, Delim: delim, Header: &header, MaxRecord: 1024}
		if opt.Validate() != nil {
			return
		}
		write(t, dir, map[string]string{"in.csv": text})
		whole := open(t, file.Local{}, dir, opt, 1<<20)
		if _, err := whole.Schema(t.Context()); err != nil {
			return
		}
		one, many := connectortest.NewRuntime(t), connectortest.NewRuntime(t)
		want := connectortest.ReadAll(t, whole, one)
		got := connectortest.ReadAll(t, open(t, file.Local{}, dir, opt, int64(cut)+1), many)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("cut at %d: %v\nwhole: %v", cut, got, want)
		}
		if a, b := failures(one), failures(many); a != b {
			t.Fatalf("cut at %d: %s\nwhole: %s", cut, b, a)
		}
	})
}

func failures(rt *connectortest.Runtime) string {
	var s strings.Builder
	for _, f := range rt.Failures() {
		fmt.Fprintf(&s, "%d %v\n", f.Position, f.Err)
	}
	return s.String()
}
