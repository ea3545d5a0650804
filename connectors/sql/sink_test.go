package sql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// restager is commit.Restager, which connectors may not import.
type restager interface {
	dataset.Rehearser
	Restage(ctx context.Context, run string, committed []dataset.Receipt) ([]dataset.Receipt, error)
}

// place is a database that sinks write to.
type place struct {
	open func(t testing.TB, opt SinkOptions) restager
	rows func(t testing.TB, sql string) []string // of one text column
	exec func(t testing.TB, sql string)
}

func places(t *testing.T, run func(t *testing.T, p place)) {
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "out.db")
		run(t, place{
			open: func(t testing.TB, opt SinkOptions) restager {
				s, err := openSQLiteSink(path, &opt)
				if err != nil {
					t.Fatal(err)
				}
				return s.(restager)
			},
			rows: func(t testing.TB, sql string) (out []string) {
				c, err := (&sqlite{path}).connect(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got, err := c.texts(t.Context(), 1, sql)
				if err = errors.Join(err, c.close()); err != nil {
					t.Fatal(err)
				}
				for _, r := range got {
					out = append(out, r[0])
				}
				return out
			},
			exec: func(t testing.TB, sql string) { sqliteExec(t, path, sql) },
		})
	})
	t.Run("postgres", func(t *testing.T) {
		name, url := pgDatabase(t)
		run(t, place{
			open: func(t testing.TB, opt SinkOptions) restager {
				s, err := openPostgresSink(url, &opt)
				if err != nil {
					t.Fatal(err)
				}
				return s.(restager)
			},
			rows: func(t testing.TB, sql string) (out []string) {
				got, err := server.Query(t.Context(), name, sql)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range got {
					out = append(out, r[0])
				}
				return out
			},
			exec: func(t testing.TB, sql string) { pgExec(t, name, sql) },
		})
	})
}

var pairSchema = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "Name", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)

// pairs makes the block of rows (id, name).
func pairs(ids []int64, name string) *block.Block {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), pairSchema)
	defer b.Release()
	for _, id := range ids {
		b.Field(0).(*array.Int64Builder).Append(id)
		if name == "" {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(name)
		}
	}
	return block.New(b.NewRecordBatch(), block.Identity{})
}

func stagePart(t testing.TB, s dataset.Sink, seq uint64, run string, blocks ...*block.Block) dataset.Receipt {
	t.Helper()
	w, err := s.NewWriter(t.Context(), connectortest.NewRuntime(t), dataset.Part{Seq: seq, Run: run, Attempt: 1}, pairSchema)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if err := w.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	r, err := w.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func noError(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

const allPairs = `SELECT id || ' ' || coalesce("Name", '∅') FROM t ORDER BY id, "Name"`

func TestSinkPublishes(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		ctx := t.Context()
		s := p.open(t, SinkOptions{Table: "t"})
		noError(t, s.Check(pairSchema))
		if found, err := s.Existing(ctx, nil); err != nil || len(found) > 0 {
			t.Fatal(found, err)
		}
		parts := []dataset.Receipt{stagePart(t, s, 0, "run1", pairs([]int64{1, 2}, "a"), pairs(nil, ""), pairs([]int64{3}, "")), stagePart(t, s, 1, "run1")}
		lost := stagePart(t, s, 2, "run1", pairs([]int64{9}, "never logged"))
		w, err := s.NewWriter(ctx, connectortest.NewRuntime(t), dataset.Part{Seq: 3, Run: "run1", Attempt: 1}, pairSchema)
		noError(t, err)
		b := pairs([]int64{8}, "aborted")
		noError(t, w.Write(ctx, b), w.Abort(ctx))
		b.Release()
		if rows, err := s.Stale(ctx, nil); err != nil || len(rows) > 0 {
			t.Fatalf("visible before Finish: %v, %v", rows, err)
		}
		missing, err := s.Restage(ctx, "run1", parts)
		noError(t, err)
		if len(missing) > 0 {
			t.Fatal(missing)
		}
		if missing, err := s.Restage(ctx, "run1", []dataset.Receipt{lost}); err != nil || len(missing) != 1 {
			t.Fatalf("a part that is gone: %v, %v", missing, err)
		}
		noError(t, s.Rehearse(ctx, nil, parts))
		for range 2 {
			noError(t, s.Finish(ctx, parts), s.Seal(ctx, parts))
		}
		if got := p.rows(t, allPairs); !slices.Equal(got, []string{"1 a", "2 a", "3 ∅"}) {
			t.Fatalf("%q", got)
		}
		missing, differ, err := s.Verify(ctx, append(slices.Clone(parts), lost))
		if err != nil || len(missing) != 1 || len(differ) > 0 {
			t.Fatal(missing, differ, err)
		}
		noError(t, s.Discard(ctx, "run1"))
		if found, err := s.Existing(ctx, parts); err != nil || len(found) > 0 {
			t.Fatal(found, err)
		}
		if found, err := s.Existing(ctx, nil); err != nil || len(found) != 1 || !strings.Contains(found[0].Name, "mode=insert") {
			t.Fatal(found, err)
		}
		// another run replaces them, and dies between removing and finishing
		more := []dataset.Receipt{stagePart(t, s, 2, "run2", pairs([]int64{7}, "b"))}
		noError(t, s.Rehearse(ctx, parts, more))
		again := p.open(t, SinkOptions{Table: "t"})
		noError(t, s.(interface{ release() error }).release())
		if got := p.rows(t, allPairs); len(got) != 3 {
			t.Fatalf("a rehearsal that came to nothing left %q", got)
		}
		for range 2 {
			noError(t, again.Remove(ctx, parts, more), again.Finish(ctx, more))
		}
		if got := p.rows(t, allPairs); !slices.Equal(got, []string{"7 b"}) {
			t.Fatalf("%q", got)
		}
		noError(t, again.Discard(ctx, "run2"))
		p.exec(t, "DELETE FROM t")
		if missing, _, err := s.Verify(ctx, more); err != nil || len(missing) != 1 {
			t.Fatalf("a table that was emptied: %v, %v", missing, err)
		}
	})
}

func TestSinkUpserts(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		ctx := t.Context()
		p.exec(t, `CREATE TABLE t (id bigint PRIMARY KEY, "Name" text, other int DEFAULT 5)`)
		p.exec(t, `INSERT INTO t VALUES (1, 'old', 1), (2, 'old', 2)`)
		s := p.open(t, SinkOptions{Table: "t", Key: []string{"id"}})
		if found, err := s.Existing(ctx, nil); err != nil || len(found) > 0 {
			t.Fatal(found, err)
		}
		parts := []dataset.Receipt{stagePart(t, s, 0, "run1", pairs([]int64{2, 3}, "first"), pairs([]int64{3, 4}, "second")), stagePart(t, s, 1, "run1", pairs([]int64{4}, "third"))}
		noError(t, s.Rehearse(ctx, nil, parts), s.Finish(ctx, parts), s.Discard(ctx, "run1"))
		want := []string{"1 old 1", "2 first 2", "3 second 5", "4 third 5"}
		if got := p.rows(t, `SELECT id || ' ' || "Name" || ' ' || other FROM t ORDER BY id`); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		insert := p.open(t, SinkOptions{Table: "t", Mode: modeInsert})
		parts = []dataset.Receipt{stagePart(t, insert, 0, "run3", pairs([]int64{4}, "again"))}
		if err := insert.Rehearse(ctx, nil, parts); err == nil || !strings.Contains(strings.ToLower(err.Error()), "unique") {
			t.Fatalf("a key that is taken: %v", err)
		}
		p.exec(t, `DELETE FROM t WHERE id = 4`) // what a person does then
		noError(t, insert.Rehearse(ctx, nil, parts), insert.Finish(ctx, parts), insert.Discard(ctx, "run3"))
		if got := p.rows(t, `SELECT "Name" FROM t WHERE id = 4`); !slices.Equal(got, []string{"again"}) {
			t.Fatalf("%q", got)
		}
	})
}

func TestSinkRefuses(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		p.exec(t, `CREATE TABLE t (id bigint)`)
		s := p.open(t, SinkOptions{Table: "t"})
		_, err := s.NewWriter(t.Context(), connectortest.NewRuntime(t), dataset.Part{Run: "run1", Attempt: 1}, pairSchema)
		if err == nil || !strings.Contains(err.Error(), `no column "Name"`) {
			t.Errorf("a column that the table lacks: %v", err)
		}
		for want, schema := range map[string]*arrow.Schema{
			"needs a column": arrow.NewSchema(nil, nil),
			"do not tell":    arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}, {Name: "A", Type: arrow.PrimitiveTypes.Int8}}, nil),
			"no form":        arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.FixedWidthTypes.Duration_s}}, nil),
		} {
			if err := s.Check(schema); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", schema, err, want)
			}
		}
	})
}

// TestCleaning: staged parts show in the state and can be removed there.
func TestCleaning(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		ctx := t.Context()
		s := p.open(t, SinkOptions{Table: "t"})
		r := stagePart(t, s, 0, "run1", pairs([]int64{1}, "a"))
		store, err := s.State(ctx)
		noError(t, err)
		names, err := store.List(ctx, "run1")
		if err != nil || len(names) != 1 || !strings.HasPrefix(names[0], "run1/stage/") {
			t.Fatal(names, err)
		}
		if others, err := store.List(ctx, "run2"); err != nil || len(others) > 0 {
			t.Fatal(others, err)
		}
		noError(t, store.Remove(ctx, names[0]))
		if missing, err := s.Restage(ctx, "run1", []dataset.Receipt{r}); err != nil || len(missing) != 1 {
			t.Fatal(missing, err)
		}
	})
}

// TestStorage checks what dataset.Storage promises.
func TestStorage(t *testing.T) {
	places(t, func(t *testing.T, p place) {
		ctx := t.Context()
		one, err := p.open(t, SinkOptions{Table: "t"}).State(ctx)
		noError(t, err)
		two, err := p.open(t, SinkOptions{Table: "t"}).State(ctx)
		noError(t, err)
		if names, err := one.List(ctx, ""); err != nil || len(names) > 0 {
			t.Fatal(names, err)
		}
		if _, err := one.Read(ctx, "a"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		unlock, err := one.Lock(ctx, "lock", []byte("me"))
		noError(t, err)
		if held, ok := errors.AsType[*dataset.LockedError](lockOf(two)); !ok || held.Owner != "me" {
			t.Fatalf("a second lock: %v", lockOf(two))
		}
		noError(t, one.Create(ctx, "r/x", nil), one.Replace(ctx, "r/y", []byte("1")), one.Replace(ctx, "r/y", []byte("2")), one.Create(ctx, "rr", []byte{0, 255}))
		if err := one.Create(ctx, "r/x", []byte("1")); !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		for _, text := range []string{"ab", "cd"} {
			log, err := one.Append(ctx, "r/log")
			noError(t, err)
			noError(t, log.Append([]byte(text[:1])), log.Append([]byte(text[1:])), log.Sync(), log.Sync(), log.Close())
		}
		for name, want := range map[string]string{"r/x": "", "r/y": "2", "rr": "\x00\xff", "r/log": "abcd"} {
			if got, err := two.Read(ctx, name); err != nil || string(got) != want {
				t.Errorf("%s is %q, %v, want %q", name, got, err, want)
			}
		}
		names, err := two.List(ctx, "r")
		if err != nil || !slices.Equal(names, []string{"r/log", "r/x", "r/y"}) {
			t.Errorf("%q, %v", names, err)
		}
		noError(t, one.Remove(ctx, "r/x"), one.Remove(ctx, "r/x"), unlock())
		unlock, err = two.Lock(ctx, "lock", []byte("you"))
		noError(t, err)
		noError(t, unlock())
	})
}

func lockOf(s dataset.Storage) error {
	unlock, err := s.Lock(context.Background(), "lock", []byte("other"))
	if err == nil {
		return errors.Join(fmt.Errorf("it was given"), unlock())
	}
	return err
}
