package sql

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// everyType are rows of every type that a table takes, in arrow's JSON; nulls and extremes among them.
var everyType = []struct {
	name string
	typ  arrow.DataType
	json string // of three rows
}{
	{"i8", arrow.PrimitiveTypes.Int8, `[-128, 127, null]`}, {"i64", arrow.PrimitiveTypes.Int64, `[-9223372036854775808, 9223372036854775807, null]`},
	{"u32", arrow.PrimitiveTypes.Uint32, `[0, 4294967295, null]`}, {"u64", arrow.PrimitiveTypes.Uint64, `[0, 18446744073709551615, null]`},
	{"f32", arrow.PrimitiveTypes.Float32, `[1.5, -2.25, null]`}, {"f64", arrow.PrimitiveTypes.Float64, `[0.1, 1.7976931348623157e308, null]`},
	{"b", arrow.FixedWidthTypes.Boolean, `[true, false, null]`}, {"s", arrow.BinaryTypes.String, `["žluť 😀 'q' \"d\"", "", null]`},
	{"ls", arrow.BinaryTypes.LargeString, `["x", "\t\n\\N", null]`}, {"bin", arrow.BinaryTypes.Binary, `["AP8=", "", null]`},
	{"dec", &arrow.Decimal128Type{Precision: 38, Scale: 4}, `["-1234567890123456789012345678901234.5678", "0.0001", null]`},
	{"d", arrow.FixedWidthTypes.Date32, `["0001-01-01", "9999-12-31", null]`}, {"t", arrow.FixedWidthTypes.Time64us, `["00:00:00", "23:59:59.999999", null]`},
	{"ts", &arrow.TimestampType{Unit: arrow.Microsecond}, `["1969-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999", null]`},
	{"tz", instant, `["2024-02-29T12:00:00.000001Z", "0001-01-01T00:00:00Z", null]`},
	{"li", arrow.ListOf(arrow.PrimitiveTypes.Int32), `[[1, null, -2147483648], [], null]`}, {"lt", arrow.ListOf(arrow.BinaryTypes.String), `[["a,b", null, "\"{}"], [""], null]`},
	{"st", arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}), `[{"x": 1}, {"x": null}, null]`},
}

func everyBlock(t *testing.T) (*arrow.Schema, *block.Block) {
	t.Helper()
	var fields []arrow.Field
	var cols []arrow.Array
	for _, c := range everyType {
		a, _, err := array.FromJSON(memory.NewGoAllocator(), c.typ, strings.NewReader(c.json))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		defer a.Release()
		fields, cols = append(fields, arrow.Field{Name: c.name, Type: c.typ, Nullable: true}), append(cols, a)
	}
	schema := arrow.NewSchema(fields, nil)
	return schema, block.New(block.FromColumns(schema, cols, 3), block.Identity{})
}

// TestEveryType writes every type and reads it back: as the same type, or as the one that the table keeps.
func TestEveryType(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		schema, b := everyBlock(t)
		defer b.Release()
		s := p.open(t, SinkOptions{Table: "every"})
		noError(t, s.Check(schema))
		w, err := s.NewWriter(t.Context(), connectortest.NewRuntime(t), dataset.Part{Run: "run1", Attempt: 1}, schema)
		noError(t, err)
		noError(t, w.Write(t.Context(), b))
		r, err := w.Commit(t.Context())
		noError(t, err)
		noError(t, s.Rehearse(t.Context(), nil, []dataset.Receipt{r}), s.Finish(t.Context(), []dataset.Receipt{r}), s.Discard(t.Context(), "run1"))
		src := sourceOf(t, s)
		release, err := src.Hold(t.Context())
		noError(t, err)
		defer func() { noError(t, release()) }()
		got := connectortest.ReadAll(t, src, connectortest.NewRuntime(t))
		want := connectortest.Rows(withIdentity(b))
		if len(got) != 3 {
			t.Fatalf("%d rows", len(got))
		}
		for i := range got {
			g, w := strings.Split(got[i].Values, "\n"), strings.Split(want[i].Values, "\n")
			for j := range w {
				if g[j] != w[j] && !sameKept(g[j], w[j]) {
					t.Errorf("row %d: %s, written %s", i, g[j], w[j])
				}
			}
		}
	})
}

// sameKept takes the forms in which SQLite keeps what it has no type for: JSON of nested values, texts of times.
func sameKept(got, want string) bool {
	clean := strings.NewReplacer(`\`, "", `"`, "", " ", "", "T", "", "Z", "").Replace
	return clean(got) == clean(want) || clean(got) == strings.TrimSuffix(clean(want), ".000000")
}

func withIdentity(b *block.Block) *block.Block {
	return b.WithIdentity(block.FromRuns(block.Run{File: &block.File{}, N: uint32(b.NumRows()), Stride: 1}))
}

// sourceOf reads what a sink has written.
func sourceOf(t *testing.T, s dataset.Target) *Source {
	t.Helper()
	locator := s.Locator()
	in := []dataset.Pattern{{Text: locator}}
	if strings.HasPrefix(locator, sqliteScheme) {
		src, err := openSQLiteSource(t.Context(), in, &SQLiteOptions{})
		noError(t, err)
		return src.(*Source)
	}
	locator = strings.Replace(locator, "postgres://", "postgres://sluice@", 1)
	src, err := openPostgres(t.Context(), []dataset.Pattern{{Text: locator}}, &Options{})
	noError(t, err)
	return src.(*Source)
}

// TestPythonSQLite: Python's sqlite3 reads what we write, and we read what it writes.
func TestPythonSQLite(t *testing.T) {
	python := connectortest.Python(t, "sqlite3")
	if python == "" {
		return
	}
	path := filepath.Join(t.TempDir(), "py.db")
	out, err := exec.Command(python, "-c", `
import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute("PRAGMA journal_mode=WAL")
c.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x, s TEXT, b BLOB, at TIMESTAMP)")
c.executemany("INSERT INTO t VALUES (?,?,?,?,?)", [(1, 1.5, "ž\x00z", b"\x00", "2024-01-02 03:04:05"), (-3, None, "", b"", None), (2**63-1, 2, None, None, "2024-01-02")])
c.commit()`, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rows := connectortest.ReadAll(t, sqliteSource(t, path, SQLiteOptions{}), connectortest.NewRuntime(t))
	var got []string
	for _, r := range rows {
		got = append(got, strings.ReplaceAll(r.Values, "\n", " "))
	}
	want := []string{`id="-3" x=null s="" b="" at=null `, `id="1" x="1.5" s="ž\x00z" b="AA==" at="2024-01-02T03:04:05" `, `id="9223372036854775807" x="2" s=null b=null at="2024-01-02T00:00:00" `}
	if !slices.Equal(got, want) {
		t.Errorf("read %q\nwant %q", got, want)
	}
	s, err := openSQLiteSink(path, &SinkOptions{Table: "u"})
	noError(t, err)
	r := stagePart(t, s, 0, "run1", pairs([]int64{-1 << 63, 5}, "a\x00b"), pairs([]int64{7}, ""))
	noError(t, s.Finish(t.Context(), []dataset.Receipt{r}))
	out, err = exec.Command(python, "-c", `import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT * FROM u ORDER BY id").fetchall())`, path).CombinedOutput()
	if want := `[(-9223372036854775808, 'a\x00b'), (5, 'a\x00b'), (7, None)]`; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("Python reads %s, %v, want %s", out, err, want)
	}
}
