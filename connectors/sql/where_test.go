package sql

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
)

// conditions are evaluated by the plan on all rows, and on those that the database gives for them: both must keep the same. pushed tells what
// is asked of SQLite and PostgreSQL.
var conditions = []struct {
	text             string
	sqlite, postgres bool
}{
	{"i == 3", true, true}, {"i != 3", true, true}, {"i > -1 and i <= 9223372036854775807", true, true}, {"3 < i", true, true},
	{"not (i > 2)", true, true}, {"i == nil", true, true}, {"i != nil", true, true}, {"not (i == nil)", true, true},
	{"i in [1, 3, 5]", true, true}, {"i in [1, nil]", false, false}, {"not (i in [1, 3])", true, true},
	{"f > 1.5", true, true}, {"f >= 2", true, true}, {"f != 2.5 or i == 1", true, true}, {"f > 0.1 and length(t) > 1", true, true},
	{"t == 'b'", true, true}, {"t == 'B'", true, true}, {"t != 'b'", true, true}, {"t >= 'B' and t < 'a'", true, true}, {"t > 'ž'", true, true},
	{"t in ['a', 'b ', 'É']", true, true}, {"t == ''", true, true}, {"starts_with(t, 'a')", false, false}, {"i % 2 == 1", false, false},
	{"b", false, true}, {"not b", false, true}, {"b == true", false, true}, {"b != false or t == 'a'", false, true},
	{`d == date("2024-02-29")`, false, true}, {`d < date("2024-02-29")`, false, true}, {`ts > timestamp("2024-01-01T00:00:00Z")`, false, true},
	{"i > 1.5", false, false}, {"(i == 1 or f == 2.5) and (t == 'a' or t == nil)", true, true}, {"i == 1 or length(t) == 1", false, false},
}

func TestConditions(t *testing.T) {
	const values = `(1, 1, 1.5, 'a', true, '2024-02-29', '2024-01-01 00:00:00'), (2, 3, 2.5, 'b', false, '2023-01-01', '2024-01-01 00:00:00.000001'),
		(3, NULL, NULL, NULL, NULL, NULL, NULL), (4, 5, -0.0, 'B', true, '2025-01-01', '1969-12-31 23:59:59'), (5, -9223372036854775807, 1e300, 'b ', false, NULL, NULL),
		(6, 9223372036854775807, 0.1, 'ž', NULL, '0001-01-01', '2030-01-01 00:00:00'), (7, 0, 2, '', true, NULL, NULL), (8, 2, 2.5, 'É', true, NULL, NULL), (9, 3, 3, 'ab', NULL, NULL, NULL)`
	path := sqliteFile(t, `CREATE TABLE t (id INTEGER PRIMARY KEY, i INT, f REAL, t TEXT COLLATE NOCASE, b BOOLEAN, d DATE, ts DATETIME)`, `INSERT INTO t VALUES `+values)
	t.Run("sqlite", func(t *testing.T) {
		testConditions(t, func() *Source { return sqliteSource(t, path, SQLiteOptions{Options: Options{Table: "t"}}) },
			func(i int) bool { return conditions[i].sqlite })
	})
	t.Run("postgres", func(t *testing.T) {
		name, url := pgDatabase(t)
		pgExec(t, name, `CREATE TABLE t (id int PRIMARY KEY, i bigint, f float8, t text, b boolean, d date, ts timestamp); INSERT INTO t VALUES `+values+
			`; INSERT INTO t VALUES (10, 1, 'NaN', 'nan', true, NULL, NULL), (11, 1, 'Infinity', 'inf', true, NULL, NULL)`)
		testConditions(t, func() *Source { return pgSource(t, url, Options{Table: "t"}) }, func(i int) bool { return conditions[i].postgres })
	})
}

func testConditions(t *testing.T, open func() *Source, pushed func(i int) bool) {
	src := open()
	release, err := src.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	for i, c := range conditions {
		e, err := expr.Parse(c.text)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		pruned := src.Prune(e)
		rel, err := src.relation(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		where, _ := condition(src.db, rel.cols, e)
		if (where != "") != pushed(i) {
			t.Errorf("%s: asked of the database: %q", c.text, where)
		}
		all, got := keptRows(t, src, e), keptRows(t, pruned, e)
		if !slices.Equal(all, got) {
			t.Errorf("%s (%s): keeps %q of all rows, %q of those that the database gave", c.text, where, all, got)
		}
	}
}

// keptRows reads a source and keeps the rows for which e is true.
func keptRows(t *testing.T, src dataset.Source, e *expr.Expr) (out []string) {
	t.Helper()
	schema, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := expr.Compile(e, schema)
	if err != nil {
		t.Fatal(err)
	}
	rt := connectortest.NewRuntime(t)
	for _, s := range connectortest.Splits(t, src, dataset.Cursor{}) {
		r, err := src.Open(t.Context(), rt, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		for b, err := r.Next(t.Context()); err == nil; b, err = r.Next(t.Context()) {
			out = append(out, selected(t, p, b)...)
			b.Release()
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func selected(t *testing.T, p *expr.Program, b *block.Block) (out []string) {
	t.Helper()
	idx, all, errs, err := p.Select(memory.DefaultAllocator, b.Record(), nil)
	if err != nil || len(errs) > 0 {
		t.Fatal(err, errs)
	}
	for i, row := range connectortest.Rows(b) {
		if all || slices.Contains(idx, uint32(i)) {
			out = append(out, strings.ReplaceAll(row.Values, "\n", " "))
		}
	}
	return out
}
