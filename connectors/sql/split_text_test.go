package sql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
)

// TestTextRanges: a column of texts is divided into ranges that hold each row once, whatever its collation and its values.
func TestTextRanges(t *testing.T) {
	check := func(t *testing.T, src *Source, rows, most int) {
		t.Helper()
		release, err := src.Hold(t.Context())
		noError(t, err)
		defer func() { noError(t, release()) }()
		splits := connectortest.Splits(t, src, dataset.Cursor{})
		if len(splits) < 4 || len(splits) > 60 {
			t.Errorf("%d splits", len(splits))
		}
		seen := map[string]bool{}
		for _, sp := range splits {
			got, err := connectortest.ReadSplit(t.Context(), src, connectortest.NewRuntime(t), sp, 0)
			noError(t, err)
			if len(got) > most {
				t.Errorf("%s: %d rows", sp.Ranges[0].File.Path, len(got))
			}
			for _, r := range got {
				if seen[r.Values] {
					t.Errorf("%s is read twice", r.Values)
				}
				seen[r.Values] = true
			}
		}
		if len(seen) != rows {
			t.Errorf("%d rows, want %d", len(seen), rows)
		}
	}
	const odd = `SELECT i, CASE i % 10 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'Ž..null' || i WHEN 3 THEN 'same' WHEN 4 THEN 'a%2F "''' || i ELSE `
	t.Run("sqlite", func(t *testing.T) {
		path := sqliteFile(t, `CREATE TABLE t (i INTEGER, k TEXT COLLATE NOCASE)`,
			`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t `+odd+`printf('%X', i * 2654435761 % 4294967296) END FROM n`,
			`INSERT INTO t VALUES (5001, x'00'), (5002, x'ff')`)
		src := sqliteSource(t, path, SQLiteOptions{Options: Options{Table: "t", By: "k", Split: 8192}, Schema: "k binary"})
		if _, err := src.Schema(t.Context()); err == nil {
			t.Error("a column that is declared binary is divided")
		}
		src = sqliteSource(t, path, SQLiteOptions{Options: Options{Query: "SELECT i, k, typeof(k) AS t FROM t WHERE typeof(k) <> 'blob'", By: "k", Split: 8192}})
		check(t, src, 3000, 1500)
	})
	t.Run("postgres", func(t *testing.T) {
		name, url := pgDatabase(t)
		pgExec(t, name, `CREATE COLLATION german (provider = icu, locale = 'de'); CREATE TABLE t (i int, k text COLLATE german, u uuid);
			INSERT INTO t `+odd+`md5(i::text) END, md5((i / 2)::text)::uuid FROM generate_series(1, 3000) n(i); CREATE VIEW v AS SELECT * FROM t; ANALYZE`)
		check(t, pgSource(t, url, Options{Table: "t", By: "k", Split: 16384}), 3000, 1500)
		check(t, pgSource(t, url, Options{Table: "v", By: "k", Split: 16384}), 3000, 1500)
		check(t, pgSource(t, url, Options{Table: "t", By: "u", Split: 16384}), 3000, 450)
		check(t, pgSource(t, url, Options{Query: "SELECT * FROM t WHERE i > 0", By: "i", Split: 16384}), 3000, 450)
	})
}

// TestSpans: ranges read back from paths, whatever texts bound them.
func TestSpans(t *testing.T) {
	for _, s := range []span{{}, {"a", ""}, {"", "b"}, {"..", "null"}, {"%2E", "a+b c"}, {"\x00\n", "žluť 😀"}} {
		got, nulls, err := parseSpan(s.String())
		if err != nil || nulls || got != s {
			t.Errorf("%q reads back as %q, %v, %v", s, got, nulls, err)
		}
	}
	for _, bad := range []string{"", "a", "%zz..", "..%"} {
		if _, _, err := parseSpan(bad); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	b := bounds{texts: []string{"a", "a", "a", "b"}, nulls: true}
	out, err := rangesByText(naming{scheme: byText, path: "p"}, b, dataset.Cursor{})
	noError(t, err)
	var paths []string
	for _, r := range out {
		paths = append(paths, r.path)
	}
	if want := []string{"p..a", "pa..b", "pb..", "pnull"}; !slices.Equal(paths, want) {
		t.Errorf("ranges %q, want %q", paths, want)
	}
	rest, err := rangesByText(naming{scheme: byText, path: "p"}, b, dataset.Cursor{Path: "pa..b"})
	if err != nil || fmt.Sprint(rest) != fmt.Sprint(out[2:]) {
		t.Errorf("behind a cursor: %v, %v", rest, err)
	}
}
