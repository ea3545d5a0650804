package csv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/dataset"
)

// oddTable is a table with everything that makes records hard to find.
func oddTable() string {
	var b strings.Builder
	b.WriteString("id,name,at,x,ok\n")
	for i := range 120 {
		fmt.Fprintf(&b, "%d,\"row %d", i, i)
		switch i % 5 {
		case 0:
			b.WriteString("\n,second line\r\n")
		case 1:
			b.WriteString(` with ""quotes"", and commas`)
		case 2:
			b.WriteString(strings.Repeat("ü", i%31))
		}
		fmt.Fprintf(&b, "\",2024-01-02T03:04:%02d.5Z,%d.25,%v", i%60, i, i%2 == 0)
		if i%7 == 0 {
			b.WriteString("\r")
		}
		b.WriteString("\n")
		if i%17 == 0 {
			b.WriteString("\r\n\n")
		}
	}
	return b.String()
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a/one.csv":     oddTable(),
		"a/two.csv":     "name,id\n\"\",1\n,2",
		"b.csv":         "\xef\xbb\xbf\"id\",name\n7,\"x\"\n",
		"c/empty.csv":   "",
		"c/header.csv":  "id,name\n",
		"d.csv.gz":      oddTable(),
		"e.csv.zst":     "id\n5\n",
		"f/inches.csv":  "name,id\n5\" pipe,9\n\"a \"\"b\"\"\nc\",10\n",
		"_left/out.csv": "id\nno\n",
		"a/.hidden.csv": "id\nno\n",
	})
	for _, size := range []int64{1 << 20, 700} {
		connectortest.RunSource(t, connectortest.SourceConfig{
			New: func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, csv.Options{}, size) },
			Resplit: []func(testing.TB) dataset.Source{
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, csv.Options{}, 7) },
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, csv.Options{}, 97) },
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, csv.Options{}, 4096) },
			},
			Rows: 120 + 2 + 1 + 120 + 1 + 2,
		})
	}
}

// TestConformanceDialects reads the same rows in other dialects, cut at every few bytes.
func TestConformanceDialects(t *testing.T) {
	none := ""
	header := false
	var utf16 strings.Builder
	utf16.WriteString("\xff\xfe")
	for _, r := range "id,name\n1,ü\n2,\"a\nb\"\n3,x\n" {
		utf16.WriteString(string([]byte{byte(r), byte(r >> 8)}))
	}
	for name, c := range map[string]struct {
		text string
		opt  csv.Options
		rows int
	}{
		"escapes":      {"id|name\n1|\"a\\\"b\nc\"\n2|x\\|y\n3|\\\nz\n", csv.Options{Delim: "|", Escape: `\`}, 3},
		"comments":     {"# a \"comment\n\nid,name\n1,x\n# \"another\n2,\"y\n#no\"\n3,z\n", csv.Options{Comment: "#"}, 3},
		"no quotes":    {"id\tname\n1\t\"x\n2\ty\"\"\n3\tz\n", csv.Options{Delim: "tab", Quote: &none}, 3},
		"marked":       {"\xef\xbb\xbf\"1\",x\n2,\"y\n\"\n3,z\n", csv.Options{Header: &header}, 3},
		"late header":  {"\xef\xbb\xbf\n\r\n\nid,name\n1,x\n", csv.Options{}, 1},
		"no header":    {"1,x\n2,\"y\n\"\n3,z\n", csv.Options{Header: &header}, 3},
		"latin1":       {"id,name\n1,\xfc\n2,\"\xe9\n\"\n3,x\n", csv.Options{Encoding: charset.Latin1}, 3},
		"utf-16":       {utf16.String(), csv.Options{}, 3},
		"odd quotes":   {"id,name\n1,5\" pipe\n2,a\"b\"c\n3,\"x\ny\"\n4,\"\"\"\"\n5,\"\"\n", csv.Options{}, 5},
		"paths":        {"id,name\n1,x\n2,y\n3,z", csv.Options{WithPath: true}, 3},
		"ragged null":  {"id,name\n1\n2,y,z\n3,\"\n\"\n", csv.Options{Ragged: csv.RaggedNull}, 3},
		"ragged skip":  {"id,name\n1\n2,y,z\n3,\"\n\"\n4,\n5,x\n", csv.Options{Ragged: csv.RaggedSkip}, 3},
		"single quote": {"id,name\n1,'x''y'\n2,'a\nb'\n3,\"\n", csv.Options{Quote: new("'")}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"in.csv": c.text})
			cut := func(n int64) func(testing.TB) dataset.Source {
				return func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, c.opt, n) }
			}
			connectortest.RunSource(t, connectortest.SourceConfig{
				New:     func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, c.opt, 1<<20) },
				Resplit: []func(testing.TB) dataset.Source{cut(1), cut(2), cut(3), cut(10)},
				Rows:    c.rows,
			})
		})
	}
}

// TestValues checks what fields become, by type and spelling.
func TestValues(t *testing.T) {
	header := false
	for _, c := range []struct {
		name, text string
		opt        csv.Options
		want       string // values of the rows, | between them
	}{
		{"nulls", "a,b,c\n1,x,2.5\n,,\n\"\",\"\",\"\"\n", csv.Options{}, `a="1" b="x" c="2.5"|a=null b=null c=null|a=null b="" c=null`},
		{"spelled nulls", "a,b\n1,x\nNA,NA\n\"NA\",\"NA\"\n", csv.Options{Null: []string{"NA"}}, `a="1" b="x"|a=null b=null|a=null b="NA"`},
		{"null that looks like a number", "a\n1\n-999\n", csv.Options{Null: []string{"-999"}}, `a="1"|a=null`},
		{"spaces", "a,b\n 1 , x \n\" 2 \",\" y\"\n", csv.Options{}, `a="1" b=" x "|a="2" b=" y"`},
		{"quoted numbers", "a,b\n\"1\",\"2.5\"\n", csv.Options{}, `a="1" b="2.5"`},
		{"marks", "a;b\n1.234.567;-1.234,5\n1;,5\n", csv.Options{Delim: ";", Thousands: ".", Decimal: ","}, `a="1234567" b="-1234.5"|a="1" b="0.5"`},
		{"codes stay text", "a,b,c\n007,+49,12345678901234567890\n", csv.Options{}, `a="007" b="+49" c="12345678901234567890"`},
		{"codes as numbers", "a,b\n007,+49\n", csv.Options{Schema: "a int64, b:float64"}, `a="7" b="49"`},
		{"floats", "a\n.5\n5.\n1e3\nnan\n-Inf\n", csv.Options{}, `a="0.5"|a="5"|a="1000"|a="NaN"|a="-Inf"`},
		{"bools", "a,b\nTRUE,1\nfalse,no\n", csv.Options{Schema: "b bool"}, `a="true" b="true"|a="false" b="false"`},
		{"times", "a,b,c\n2024-02-29,2024-02-29 12:00,2024-02-29T12:00:00.123456789+01:00\n", csv.Options{},
			`a="2024-02-29" b="2024-02-29T12:00:00Z" c="2024-02-29T11:00:00.123456789Z"`},
		{"decimal", "a\n-1.50\n+2\n", csv.Options{Schema: "a:decimal(10, 2)"}, `a="-1.5"|a="2"`},
		{"binary", "a\nAP8=\n\"\"\n", csv.Options{Schema: "a:binary"}, `a="AP8="|a=""`},
		{"names", "a,,a,a_2\n1,2,3,4\n", csv.Options{}, `a="1" column2="2" a_3="3" a_2="4"`},
		{"no header", "1,x\n", csv.Options{Header: &header}, `column1="1" column2="x"`},
		{"no header, named", "1,x\n", csv.Options{Header: &header, Schema: "id int32, name string"}, `id="1" name="x"`},
		{"strings", "a,b\n1,\n", csv.Options{Infer: csv.InferStrings}, `a="1" b=null`},
		{"latin1", "n\xe4me\n\xfc\n\"\x80\"\n", csv.Options{Encoding: charset.Latin1}, "näme=\"ü\"|näme=\"\\u0080\""},
		{"windows-1252", "a\n\x80\n", csv.Options{Encoding: charset.Windows1252}, `a="€"`},
		{"replace", "a\nx\xffy\n", csv.Options{Invalid: csv.InvalidReplace}, "a=\"x\ufffdy\""},
		{"bare quotes", "a\n5\" pipe\nx\"\"y\n", csv.Options{}, `a="5\" pipe"|a="x\"\"y"`},
		{"escapes", "a,b\n\"x\\\"y\\n\",p\\,q\n", csv.Options{Escape: `\`}, `a="x\"yn" b="p,q"`},
		{"crlf", "a,b\r\n1,\"x\r\ny\"\r\n2,z\r\n", csv.Options{}, `a="1" b="x\r\ny"|a="2" b="z"`},
		{"lone cr", "a,b\n1,x\ry\n", csv.Options{}, `a="1" b="x\ry"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"in.csv": c.text})
			rt := connectortest.NewRuntime(t)
			var got []string
			for _, r := range connectortest.ReadAll(t, open(t, file.Local{}, dir, c.opt, 0), rt) {
				got = append(got, strings.ReplaceAll(strings.TrimSuffix(r.Values, "\n"), "\n", " "))
			}
			if s := strings.Join(got, "|"); s != c.want || len(rt.Failures()) > 0 {
				t.Errorf("got  %s\nwant %s\nfailures %v", s, c.want, rt.Failures())
			}
		})
	}
}

// TestBadRecords checks what is said about each kind of broken record, and that the other records survive.
func TestBadRecords(t *testing.T) {
	const head = "id,score,name,ok,at,day\n"
	const good = "1,0.5,a,true,2024-01-02T03:04:05Z,2024-01-02\n"
	for _, c := range []struct {
		name, line string
		opt        csv.Options
		want       []string
	}{
		{"type", `seven,,,,,`, csv.Options{}, []string{"line 3", "byte 1", `column "id"`, "seven", "is not a number", "int64", `schema="id string"`}},
		{"quoted", `"seven",,,,,`, csv.Options{}, []string{`column "id"`, `"seven"`, "is not a number"}},
		{"fraction", `1.5,,,,,`, csv.Options{}, []string{`column "id"`, "1.5", "not a whole number", `schema="id float64"`}},
		{"past int64", `9223372036854775808,,,,,`, csv.Options{}, []string{"9223372036854775808", "out of range", "int64", `schema="id string"`}},
		{"leading zero", `007,,,,,`, csv.Options{}, []string{"007", "leading zeros", `schema="id string"`}},
		{"past float64", `,1e999,,,,`, csv.Options{}, []string{"byte 2", `column "score"`, "1e999", "out of range", "float64"}},
		{"bool", `,,,maybe,,`, csv.Options{}, []string{`column "ok"`, "maybe", "neither true nor false", "bool"}},
		{"time", `,,,,yesterday,`, csv.Options{}, []string{`column "at"`, "yesterday", "RFC 3339", `schema="at string"`}},
		{"finer", `,,,,2024-01-02T03:04:05.0000001Z,`, csv.Options{}, []string{"finer", `schema="at timestamp[ns]"`}},
		{"date", `,,,,,2024-02-30`, csv.Options{}, []string{`column "day"`, "2024-02-30", "is not a date"}},
		{"short", `1,2`, csv.Options{}, []string{"line 3", "has 2 fields", "6 columns", "ragged=null", "ragged=skip"}},
		{"long", `1,2,a,true,,,,`, csv.Options{}, []string{"has 8 fields", "6 columns", "ragged=null"}},
		{"behind quote", `1,2,"a"b,,,`, csv.Options{}, []string{"line 3", `column "name"`, "b", "behind a closing quote", `quote=""`}},
		{"utf8", "1,2,a\xffb,,,", csv.Options{}, []string{`column "name"`, "not UTF-8", "encoding=latin1", "invalid=replace"}},
		{"field", "1,2," + strings.Repeat("y", 200) + ",,,", csv.Options{MaxField: 100}, []string{`column "name"`, "max_field=100B", "raise max_field"}},
		{"record", "1,2,\"" + strings.Repeat("y\n", 3000) + "\",,,", csv.Options{MaxRecord: 4096}, []string{"line 3", "longer than max_record=4KiB", "raise max_record"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"in.csv": head + good})
			src := open(t, file.Local{}, dir+"/in.csv", c.opt, 1<<20)
			if _, err := src.Schema(t.Context()); err != nil {
				t.Fatal(err)
			}
			write(t, dir, map[string]string{"in.csv": head + good + c.line + "\n" + good})
			for _, size := range []int64{1 << 20, 10} {
				late := open(t, file.Local{}, dir+"/in.csv", c.opt, size).Pinned(src)
				rt := connectortest.NewRuntime(t)
				rows := connectortest.ReadAll(t, late, rt)
				if len(rows) != 2 || rows[1].Values != rows[0].Values {
					t.Fatalf("the good records give %v", rows)
				}
				if len(rt.Failures()) != 1 {
					t.Fatalf("want one failure, got %v", rt.Failures())
				}
				f := rt.Failures()[0]
				if f.Position != uint64(len(head+good)) {
					t.Errorf("the failure is at %d, want %d", f.Position, len(head+good))
				}
				for _, w := range c.want {
					if !strings.Contains(f.Err.Error(), w) {
						t.Errorf("error %q lacks %q", f.Err, w)
					}
				}
				row := &dataset.RowError{Op: "csv", Err: f.Err}
				row.Row.File, row.Row.Position = f.File, f.Position
				if !strings.Contains(row.Error(), "in.csv") {
					t.Errorf("error %q names no file", row)
				}
			}
		})
	}
}

// TestOpenQuote: a quote that never closes takes the rest of the file, and is one failure, however the file is cut.
func TestOpenQuote(t *testing.T) {
	text := "id,name\n1,x\n2,\"open\n" + strings.Repeat("3,y\n", 2000)
	for _, max := range []dataset.ByteSize{0, 2048} {
		for _, size := range []int64{1 << 20, 100} {
			dir := t.TempDir()
			write(t, dir, map[string]string{"in.csv": text})
			rt := connectortest.NewRuntime(t)
			rows := connectortest.ReadAll(t, open(t, file.Local{}, dir, csv.Options{MaxRecord: max, Schema: "id int64, name string"}, size), rt)
			if len(rows) != 1 || len(rt.Failures()) != 1 {
				t.Fatalf("%d rows, failures %v", len(rows), rt.Failures())
			}
			want := []string{"line 3", "never closes", `quote=""`}
			if max > 0 {
				want = []string{"line 3", "max_record=2KiB", `quote=""`}
			}
			for _, w := range want {
				if msg := rt.Failures()[0].Err.Error(); !strings.Contains(msg, w) {
					t.Errorf("error %q lacks %q", msg, w)
				}
			}
		}
	}
}

// TestLineNumbersInLaterSplits numbers a broken record from the start of the file whatever split it is in.
func TestLineNumbersInLaterSplits(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,s\n")
	line := 2
	want := 0
	for i := 1; i <= 300; i++ {
		if i%41 == 0 {
			fmt.Fprintf(&text, "x%d,\n", line)
			want++
		} else {
			fmt.Fprintf(&text, "%d,\"a\nb\"\n", i)
			line++
		}
		line++
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"in.csv": text.String()})
	for _, size := range []int64{1, 13, 100, 1 << 20} {
		rt := connectortest.NewRuntime(t)
		connectortest.ReadAll(t, open(t, file.Local{}, dir, csv.Options{Schema: "id int64"}, size), rt)
		var got []int64
		for _, f := range rt.Failures() {
			e, ok := errors.AsType[*csv.RecordError](f.Err)
			if !ok || !strings.Contains(e.Value, fmt.Sprintf("x%d", e.Line)) {
				t.Fatalf("split size %d: %v", size, f.Err)
			}
			got = append(got, e.Line)
		}
		if len(got) != want || !slices.IsSorted(got) {
			t.Fatalf("split size %d: lines %v", size, got)
		}
	}
}

// TestUsage checks what is said about options and headers that cannot be.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		name, text string
		opt        csv.Options
		want       []string
	}{
		{"delim", "a\n", csv.Options{Delim: "::"}, []string{`delim="::"`, "one ASCII character"}},
		{"same", "a\n", csv.Options{Delim: `"`}, []string{"same character"}},
		{"ragged", "a\n", csv.Options{Ragged: "no"}, []string{"ragged=no", "error, null or skip"}},
		{"encoding", "a\n", csv.Options{Encoding: "ebcdic"}, []string{"encoding=ebcdic", "latin1"}},
		{"nested", "a\n", csv.Options{Schema: "a:list<int64>"}, []string{`column "a"`, "no nested columns"}},
		{"unknown column", "name,id\n1,2\n", csv.Options{Schema: "nmae:int64"}, []string{"in.csv", `no column "nmae"`, `"name"`}},
		{"twice", "a\n", csv.Options{Schema: "a:int64, a:string"}, []string{`"a" is named twice`}},
		{"marks", "a\n", csv.Options{Thousands: "."}, []string{"decimal="}},
		{"columns", "a,b,c,d\n", csv.Options{MaxColumns: 3}, []string{"in.csv", "more than max_columns=3"}},
		{"long header", strings.Repeat("x", 3000) + "\n", csv.Options{MaxRecord: 2048}, []string{"in.csv", "line 1", "max_field=2KiB"}},
		{"path", "path\n", csv.Options{WithPath: true}, []string{"with_path", `"path"`}},
		{"header", "a\xff\n", csv.Options{}, []string{"in.csv", "not UTF-8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"in.csv": c.text})
			src, err := csv.NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: dir}}), c.opt)
			if err == nil {
				_, err = src.Schema(t.Context())
			}
			for _, w := range c.want {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("error %v lacks %q", err, w)
				}
			}
		})
	}
}

// TestWarnings checks what is said once about odd files that are read all the same.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"1.csv": "a,,a\n1,2,3\n4,5\n", "2.csv": "b\n1\n", "3.csv": "a;b\n"})
	rt := connectortest.NewRuntime(t)
	connectortest.ReadAll(t, open(t, file.Local{}, dir, csv.Options{Ragged: csv.RaggedNull}, 0), rt)
	all := strings.Join(rt.Warnings(), "\n")
	for _, w := range []string{`column 2 has no name and is called "column2"`, `column 3 is named "a" like another one and is called "a_2"`,
		"1 records of", "filled with nulls", "2.csv has no column a, column2, a_2", `pass delim=";"`} {
		if !strings.Contains(all, w) {
			t.Errorf("warnings\n%s\nlack %q", all, w)
		}
	}
}

// TestFileChanges: a file that changes or vanishes is an error that names it.
func TestFileChanges(t *testing.T) {
	for name, change := range map[string]func(p string) error{
		"grown":    func(p string) error { return os.WriteFile(p, []byte("id\n1\n2\n3\n"), 0o644) },
		"cut":      func(p string) error { return os.Truncate(p, 5) },
		"touched":  func(p string) error { return os.Chtimes(p, time.Time{}, time.Now().Add(time.Hour)) },
		"vanished": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int64{1 << 20, 3} {
				dir := t.TempDir()
				write(t, dir, map[string]string{"in.csv": "id\n1\n2\n"})
				src := open(t, file.Local{}, dir, csv.Options{}, size)
				if _, err := src.Schema(t.Context()); err != nil {
					t.Fatal(err)
				}
				splits := connectortest.Splits(t, src, dataset.Cursor{})
				if err := change(filepath.Join(dir, "in.csv")); err != nil {
					t.Fatal(err)
				}
				_, err := connectortest.ReadSplit(t.Context(), src, connectortest.NewRuntime(t), splits[len(splits)-1], 0)
				if !errors.Is(err, file.ErrChanged) || !strings.Contains(err.Error(), "in.csv") {
					t.Fatalf("got %v", err)
				}
			}
		})
	}
}

// TestManyColumns reads 2,000 columns in blocks that stay near their size.
func TestManyColumns(t *testing.T) {
	const n = 2000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "c%d,", i)
	}
	b.WriteString("last\n")
	for r := range 200 {
		for i := range n {
			fmt.Fprintf(&b, "%d,", i*r)
		}
		b.WriteString("x\n")
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"in.csv": b.String()})
	rt := connectortest.NewRuntime(t)
	src := open(t, file.Local{}, dir, csv.Options{}, 1<<20)
	rows, peak := 0, 0
	for _, s := range connectortest.Splits(t, src, dataset.Cursor{}) {
		r, err := src.Open(t.Context(), rt, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := r.Next(t.Context())
			if err != nil {
				break
			}
			peak = max(peak, rt.Mem.CurrentAlloc())
			rows += b.NumRows()
			b.Release()
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if rows != 200 || peak > 8<<20 {
		t.Fatalf("%d rows, %d bytes at most", rows, peak)
	}
}
