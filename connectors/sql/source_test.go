package sql

import (
	stdsql "database/sql"
	"path/filepath"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// sqliteFile makes a database of statements and returns its path.
func sqliteFile(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "te st%20?#.db")
	sqliteExec(t, path, statements...)
	return path
}

func sqliteExec(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := openSQLite(path, "rwc")
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, db)
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func closed(t testing.TB, db *stdsql.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// open makes a source as the registry does.
func open(t testing.TB, def func() (dataset.Source, error)) *Source {
	t.Helper()
	src, err := def()
	if err != nil {
		t.Fatal(err)
	}
	return src.(*Source) //nolint // all sources here are
}

func sqliteSource(t testing.TB, path string, opt SQLiteOptions) *Source {
	t.Helper()
	return open(t, func() (dataset.Source, error) {
		db, err := newSQLite(path)
		if err != nil {
			return nil, err
		}
		return newSource(sqliteScheme, "sqlite:"+path, db, selection{opt.Table, opt.Query, opt.By, opt.Schema}, int64(opt.Split)), nil
	})
}

func pgSource(t testing.TB, url string, opt Options) *Source {
	t.Helper()
	return open(t, func() (dataset.Source, error) {
		return openPostgres(t.Context(), []dataset.Pattern{{Text: url}}, &opt)
	})
}

const suiteRows = 200

// The rows of the suite: sparse keys, some negative, nulls, a column that repeats.
const (
	fillSQLite = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO t SELECT i * 3 - 60, i % 7, CASE WHEN i % 5 THEN 'row ' || i END, i / 4.0 FROM n`
	fillPostgres = `INSERT INTO t SELECT i * 3 - 60, i % 7, CASE WHEN i % 5 <> 0 THEN repeat('row ' || i, 20) END, i / 4.0 FROM generate_series(1, 200) AS n(i)`
)

func TestSQLiteSuite(t *testing.T) {
	path := sqliteFile(t, `CREATE TABLE t (id INTEGER PRIMARY KEY, grp INT, name TEXT, f REAL)`, fillSQLite,
		`CREATE TABLE w (k TEXT PRIMARY KEY, v INT) WITHOUT ROWID`, `INSERT INTO w SELECT 'k' || id, grp FROM t`,
		`CREATE VIEW v AS SELECT * FROM t WHERE grp IS NOT NULL ORDER BY id`, `UPDATE t SET grp = NULL WHERE id % 11 = 0`)
	for name, opt := range map[string]SQLiteOptions{
		"rowid":  {Options: Options{Table: "t"}},
		"split":  {Options: Options{Table: "t", Split: 4096}},
		"by":     {Options: Options{Table: "t", By: "grp", Split: 16384}},
		"none":   {Options: Options{Table: "w"}},
		"text":   {Options: Options{Table: "t", By: "name", Split: 4096}},
		"key":    {Options: Options{Table: "w", By: "k", Split: 1000}},
		"asked":  {Options: Options{Query: "SELECT id, name FROM t", By: "name", Split: 4096}},
		"view":   {Options: Options{Table: "v"}},
		"query":  {Options: Options{Query: "SELECT id, name FROM t ORDER BY id;"}},
		"schema": {Options: Options{Table: "t"}, Schema: "grp int8, id string"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := suiteRows
			if name == "view" {
				rows = len(connectortest.ReadAll(t, sqliteSource(t, path, opt), connectortest.NewRuntime(t)))
			}
			config := connectortest.SourceConfig{Rows: rows, Served: true, New: func(t testing.TB, _ file.FS) dataset.Source { return sqliteSource(t, path, opt) }}
			if name == "rowid" || name == "split" {
				for _, split := range []dataset.ByteSize{1000, 10_000, 1 << 30} {
					config.Resplit = append(config.Resplit, func(t testing.TB) dataset.Source {
						return sqliteSource(t, path, SQLiteOptions{Options: Options{Table: "t", Split: split}})
					})
				}
			}
			connectortest.RunSource(t, config)
		})
	}
}

func TestPostgresSuite(t *testing.T) {
	name, url := pgDatabase(t)
	pgExec(t, name, `CREATE TABLE t (id int PRIMARY KEY, grp smallint, name text, f float8);`+fillPostgres+
		`; UPDATE t SET grp = NULL WHERE id % 11 = 0;
		CREATE TABLE noid AS SELECT * FROM t; DELETE FROM noid WHERE id % 2 = 0;
		CREATE TABLE at (at timestamptz PRIMARY KEY, d date NOT NULL UNIQUE, n int); INSERT INTO at SELECT '2000-01-01'::timestamptz + i * interval '100 days', '1900-01-01'::date + i, i FROM generate_series(-100, 99) n(i);
		CREATE TABLE u AS SELECT md5(i::text)::uuid AS id, i FROM generate_series(1, 200) n(i);
		CREATE VIEW v AS SELECT * FROM t ORDER BY id; ANALYZE`)
	for name, opt := range map[string]Options{
		"key":   {Table: "t"},
		"split": {Table: "t", Split: 4096},
		"by":    {Table: "t", By: "grp", Split: 16384},
		"text":  {Table: "t", By: "name", Split: 4096},
		"uuid":  {Table: "u", By: "id", Split: 2000},
		"asked": {Query: "SELECT id, name FROM t", By: "name", Split: 2000},
		"place": {Table: "noid", Split: 16384},
		"time":  {Table: "at", By: "at", Split: 16384},
		"date":  {Table: "at", Split: 16384},
		"view":  {Table: "v"},
		"query": {Query: "SELECT id, name FROM t ORDER BY id;"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := suiteRows
			if name == "place" {
				rows = 100
			}
			config := connectortest.SourceConfig{Rows: rows, Served: true, New: func(t testing.TB, _ file.FS) dataset.Source {
				src := pgSource(t, url, opt)
				release, err := src.Hold(t.Context()) // places and counts hold in one snapshot only
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := release(); err != nil {
						t.Error(err)
					}
				})
				return src
			}}
			connectortest.RunSource(t, config)
		})
	}
}
