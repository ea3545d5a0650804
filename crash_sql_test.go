//go:build linux

package sluice_test

import (
	stdsql "database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/sluice-data/sluice/connectors/sql/sqltest"
)

// crashDatabase is a database that killed runs write to and read from.
type crashDatabase struct {
	url   string                             // with a table to come behind it
	query func(sql string) ([]string, error) // rows as text
}

func crashSQLite(t *testing.T) crashDatabase {
	path := filepath.Join(t.TempDir(), "crash.db")
	return crashDatabase{"sqlite:" + path + "?table=", func(sql string) (out []string, err error) {
		db, err := stdsql.Open("sqlite", path)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		rows, err := db.QueryContext(t.Context(), sql)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				return nil, err
			}
			out = append(out, s)
		}
		return out, errors.Join(rows.Err(), rows.Close())
	}}
}

func crashPostgres(t *testing.T, server *sqltest.Server) crashDatabase {
	name, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return crashDatabase{server.URL(name) + "?table=", func(sql string) (out []string, err error) {
		rows, err := server.Query(t.Context(), name, sql)
		for _, r := range rows {
			out = append(out, r[0])
		}
		return out, err
	}}
}

// TestCrashSQL kills runs that write to databases at every crash point, and runs that read from them. In the end each row is there once.
func TestCrashSQL(t *testing.T) {
	in := t.TempDir()
	writeNumbers(t, in, 3, 500, false)
	t.Run("sqlite", func(t *testing.T) { crashSQL(t, in, func(t *testing.T) crashDatabase { return crashSQLite(t) }) })
	t.Run("postgres", func(t *testing.T) {
		server, err := sqltest.Start()
		if errors.Is(err, sqltest.ErrNone) && !sqltest.Required() {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := server.Stop(); err != nil {
				t.Error(err)
			}
		}()
		crashSQL(t, in, func(t *testing.T) crashDatabase { return crashPostgres(t, server) })
	})
}

func crashSQL(t *testing.T, in string, open func(t *testing.T) crashDatabase) {
	resuming, others := crashPoints(t)
	source := in + "/*.jsonl | drop tags | "
	for _, mode := range []struct {
		name, options string
		flags         []string
		points        []string
	}{
		{"create", "", nil, slices.Concat(others, resuming)},
		{"overwrite", "", []string{"--overwrite"}, []string{"manifest created", "old parts removed", "parts published"}},
		{"upsert", " key=n", nil, []string{"parts published"}},
		{"append", "", []string{"--append"}, []string{"generation committed", "parts published"}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			for _, point := range mode.points {
				db := open(t)
				want := 1500
				switch mode.name {
				case "overwrite":
					runSQL(t, "", in+"/in-000.jsonl | drop tags | "+db.url+"t")
				case "append":
					runSQL(t, "", in+"/in-*.jsonl | drop tags | where n >= 0 | "+db.url+"t")
					want = 3000
				}
				points := []string{point}
				if slices.Contains(resuming, point) {
					points = []string{"generation committed", point}
				}
				killed := 0
				for _, p := range points {
					if runSQL(t, p, source+db.url+"t"+mode.options, mode.flags...) {
						killed++
					}
				}
				for killed > 0 && runSQL(t, "", source+db.url+"t"+mode.options, mode.flags...) {
					t.Fatal("an undisturbed run was killed")
				}
				got, err := db.query("SELECT count(*) || ' ' || count(DISTINCT n) || ' ' || sum(n) FROM t")
				if err != nil {
					t.Fatalf("%s: %v", point, err)
				}
				if w := fmt.Sprintf("%d 1500 %d", want, 1499*1500/2*(want/1500)); !slices.Equal(got, []string{w}) {
					t.Fatalf("killed %d times at %s: rows, different rows and their sum are %s, want %s", killed, point, got, w)
				}
			}
		})
	}
	t.Run("read", func(t *testing.T) { crashSQLRead(t, in, open(t)) })
}

// crashSQLRead kills runs that read a table, whose rows are named by their key.
func crashSQLRead(t *testing.T, in string, db crashDatabase) {
	runSQL(t, "", in+"/*.jsonl | drop tags | "+db.url+"t key=n")
	for _, point := range []string{"generation committed", "parts durable"} {
		out := t.TempDir() + "/out/"
		job := "'" + db.url + "t' by=n split=16KiB | " + out + " to=jsonl"
		for !runSQL(t, point, job) {
			t.Fatalf("the run was not killed at %s", point)
		}
		runSQL(t, "", job)
		rows := linesIn(t, false, strings.TrimSuffix(out, "/"))
		if len(rows) != 1500 {
			t.Fatalf("killed at %s: %d rows, want 1500", point, len(rows))
		}
		if slices.Sort(rows); len(slices.Compact(rows)) != 1500 {
			t.Fatalf("killed at %s: rows came twice", point)
		}
	}
}

// runSQL runs a job, which kills itself at a point if one is given, and tells whether it did.
func runSQL(t *testing.T, point, job string, flags ...string) (killed bool) {
	t.Helper()
	cmd := sluiceCommand(t, append([]string{"--quiet", "--part-size", "20KiB", "--commit-every", "20ms", "--parallel", "2", "--memory", "64MiB", job}, flags...)...)
	cmd.Env = append(cmd.Env, "SLUICE_COMPACT_AFTER=1")
	if point != "" {
		cmd.Env = append(cmd.Env, "SLUICE_CRASHPOINT="+point+":1")
	}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.Exited() {
		t.Fatalf("%s, to be killed at %q: %v: %s", job, point, err, out)
	}
	return !cmd.ProcessState.Exited()
}
