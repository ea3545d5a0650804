package sql

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
)

// persist reads a source as the engine does: a split that fails for a while is opened again where it was. before is called before each block.
func persist(t *testing.T, src *Source, before func(block int)) (rows []connectortest.Row, err error) {
	t.Helper()
	release, err := src.Hold(t.Context())
	noError(t, err)
	defer func() { noError(t, release()) }()
	rt := connectortest.NewRuntime(t)
	rt.Rows = 50
	n := 0
	for _, s := range connectortest.Splits(t, src, dataset.Cursor{}) {
		at := s.Ranges[0].Start
		for tries := 0; ; tries++ {
			r, err := src.Open(t.Context(), rt, s, at)
			for err == nil {
				before(n)
				b, nerr := r.Next(t.Context())
				if err = nerr; err == nil {
					got := connectortest.Rows(b)
					b.Release()
					rows, at, n, tries = append(rows, got...), got[len(got)-1].Position+1, n+1, 0
				}
			}
			if r != nil {
				noError(t, r.Close())
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if _, transient := errors.AsType[*dataset.TransientError](err); !transient || tries == 20 {
				return rows, err
			}
		}
	}
	return rows, nil
}

const wideRows = `CREATE TABLE t (id int PRIMARY KEY, text text); INSERT INTO t SELECT i, repeat('x', 20000) FROM generate_series(1, 2000) i; CREATE TABLE noid AS SELECT * FROM t`

// cutOff ends all connections to a database but the one that holds the snapshot, if keep is set.
func cutOff(t *testing.T, name string, keep bool) {
	t.Helper()
	cond := ""
	if keep {
		cond = " AND query NOT LIKE '%pg_export_snapshot%' AND query NOT LIKE '%max(%' AND query NOT LIKE '%pg_table_size%'"
	}
	pgExec(t, "postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"'"+cond)
}

func TestLostConnection(t *testing.T) {
	name, url := pgDatabase(t)
	pgExec(t, name, wideRows)
	for _, table := range []string{"t", "noid"} {
		rows, err := persist(t, pgSource(t, url, Options{Table: table}), func(block int) {
			if block == 3 || block == 17 {
				cutOff(t, name, true)
			}
		})
		if err != nil || len(rows) != 2000 {
			t.Errorf("%s: %d rows, %v", table, len(rows), err)
		}
		slices.SortFunc(rows, func(a, b connectortest.Row) int { return strings.Compare(a.Values, b.Values) })
		if n := len(slices.CompactFunc(rows, func(a, b connectortest.Row) bool { return a.Values == b.Values })); n != 2000 {
			t.Errorf("%s: %d different rows", table, n)
		}
	}
}

// TestServerKilled: rows that a key names are read on; others are refused with what to do.
func TestServerKilled(t *testing.T) {
	name, url := pgDatabase(t)
	pgExec(t, name, wideRows)
	once := func() func(int) {
		return func(block int) {
			if block == 5 {
				noError(t, server.Kill(), server.Run())
			}
		}
	}
	done := once()
	killed := false
	rows, err := persist(t, pgSource(t, url, Options{Table: "t"}), func(block int) {
		if !killed && block == 5 {
			killed = true
			done(block)
		}
	})
	if err != nil || len(rows) != 2000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	killed = false
	_, err = persist(t, pgSource(t, url, Options{Table: "noid"}), func(block int) {
		if !killed && block == 5 {
			killed = true
			done(block)
		}
	})
	if fatal, ok := errors.AsType[*dataset.FatalError](err); !ok || !strings.Contains(fatal.Error(), "by=") {
		t.Errorf("rows without names after a restart: %v", err)
	}
}

// TestServerKilledWriting: a writer that loses the server fails and leaves nothing; what was committed is still there.
func TestServerKilledWriting(t *testing.T) {
	name, url := pgDatabase(t)
	s, err := openPostgresSink(url, &SinkOptions{Table: "t"})
	noError(t, err)
	part := stagePart(t, s, 0, "run1", pairs([]int64{1, 2}, "kept"))
	w, err := s.NewWriter(t.Context(), connectortest.NewRuntime(t), dataset.Part{Seq: 1, Run: "run1", Attempt: 1}, pairSchema)
	noError(t, err)
	b := pairs([]int64{3}, "lost")
	defer b.Release()
	noError(t, w.Write(t.Context(), b))
	store, err := s.(dataset.Target).State(t.Context())
	noError(t, err)
	unlock, err := store.Lock(t.Context(), "lock", nil)
	noError(t, err)
	noError(t, server.Kill(), server.Run())
	if err := w.Write(t.Context(), b); err == nil || !strings.Contains(err.Error(), "run the same command again") {
		t.Errorf("writing to a server that died: %v", err)
	}
	noError(t, w.Abort(t.Context()))
	if err := store.Replace(t.Context(), "x", nil); err == nil {
		t.Error("the state is written though its lock was lost")
	}
	if err := unlock(); err == nil {
		t.Error("nobody is told that the lock was lost")
	}
	again, err := openPostgresSink(url, &SinkOptions{Table: "t"})
	noError(t, err)
	if missing, err := again.(restager).Restage(t.Context(), "run1", []dataset.Receipt{part}); err != nil || len(missing) > 0 {
		t.Errorf("a committed part after a restart: %v, %v", missing, err)
	}
	noError(t, again.Finish(t.Context(), []dataset.Receipt{part}))
	if got, err := server.Query(t.Context(), name, `SELECT count(*) FROM t`); err != nil || got[0][0] != "2" {
		t.Errorf("%v rows, %v", got, err)
	}
}

func TestStatementTimeout(t *testing.T) {
	name, url := pgDatabase(t)
	pgExec(t, name, `CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)`)
	src := pgSource(t, url+"?options=-c%20statement_timeout=50", Options{Query: "SELECT id, pg_sleep(10)::text AS s FROM t"})
	_, err := persist(t, src, func(int) {})
	if err == nil || !strings.Contains(err.Error(), "statement_timeout=0") {
		t.Errorf("%v", err)
	}
}

// TestSecrets: a password comes from the environment, and shows nowhere.
func TestSecrets(t *testing.T) {
	name, url := pgDatabase(t)
	pgExec(t, name, `CREATE ROLE secret LOGIN PASSWORD 'geheim'; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1); GRANT SELECT ON t TO secret`)
	url = strings.Replace(url, "sluice@", "secret@", 1)
	t.Setenv("PGPASSWORD", "geheim")
	src := pgSource(t, url, Options{Table: "t"})
	if rows := connectortest.ReadAll(t, src, connectortest.NewRuntime(t)); len(rows) != 1 || strings.Contains(rows[0].Path, "geheim") || strings.Contains(rows[0].Path, "secret") {
		t.Errorf("%v", rows)
	}
	t.Setenv("PGPASSWORD", "geheim2")
	_, err := pgSource(t, url, Options{Table: "t"}).Schema(t.Context())
	if err == nil || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), "PGPASSWORD") {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestSQLiteLive: readers of one run see one state, while another program writes.
func TestSQLiteLive(t *testing.T) {
	path := sqliteFile(t, "PRAGMA journal_mode=WAL", `CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t SELECT i, printf('%0500d', i) FROM n`)
	src := sqliteSource(t, path, SQLiteOptions{Options: Options{Split: 100_000}})
	rows, err := persist(t, src, func(block int) {
		if block%5 == 0 {
			sqliteExec(t, path, `DELETE FROM t WHERE id > 1000`, `INSERT INTO t (s) VALUES ('new')`, `UPDATE t SET s = 'changed'`)
		}
	})
	if err != nil || len(rows) != 2000 || slices.ContainsFunc(rows, func(r connectortest.Row) bool { return strings.Contains(r.Values, "changed") }) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	split := connectortest.Splits(t, src, dataset.Cursor{})[0]
	sqliteExec(t, path, `DELETE FROM t`)
	if _, err := connectortest.ReadSplit(t.Context(), src, connectortest.NewRuntime(t), split, 0); !errors.Is(err, dataset.ErrChanged) {
		t.Errorf("a split of another state: %v", err)
	}
}

// TestOddValues: values that do not fit their column are row errors that name the row and the column.
func TestOddValues(t *testing.T) {
	path := sqliteFile(t, `CREATE TABLE t (id INTEGER PRIMARY KEY, i INT, d DATE, at DATETIME, s TEXT)`,
		`INSERT INTO t VALUES (1, 1, '2024-01-01', '2024-01-01', 'a'), (2, 'two', NULL, NULL, NULL), (3, 3, 'noday', NULL, NULL), (4, 4, NULL, 1700000000, NULL), (5, 5, NULL, NULL, x'ff')`)
	check := func(t *testing.T, src *Source, want ...string) {
		t.Helper()
		rt := connectortest.NewRuntime(t)
		if rows := connectortest.ReadAll(t, src, rt); len(rows) != 1 {
			t.Errorf("%d rows", len(rows))
		}
		for i, f := range rt.Failures() {
			if i < len(want) && !strings.Contains(f.Err.Error(), want[i]) {
				t.Errorf("row %d: %v, want %q", f.Position, f.Err, want[i])
			}
		}
		if len(rt.Failures()) != len(want) {
			t.Errorf("%d rows failed, want %d", len(rt.Failures()), len(want))
		}
	}
	check(t, sqliteSource(t, path, SQLiteOptions{}), `row 2, column "i": the value "two" of type TEXT is no int64; declare another type with schema=`, `row 3, column "d"`, `'unixepoch'`, `row 5, column "s"`)
	name, url := pgDatabase(t)
	pgExec(t, name, `CREATE TABLE t (id int PRIMARY KEY, d date, n numeric(5, 2), a int[], tz timestamptz); INSERT INTO t VALUES (1, '2024-01-01', 1, '{1}', now()),
		(2, 'infinity', NULL, NULL, NULL), (3, NULL, 'NaN', NULL, NULL), (4, NULL, NULL, '{{1,2},{3,4}}', NULL), (5, NULL, NULL, NULL, '-infinity')`)
	check(t, pgSource(t, url, Options{Table: "t"}), `row 2, column "d": infinity`, `row 3, column "n": NaN`, `row 4, column "a": the array has 2 dimensions`, `row 5, column "tz"`)
}
