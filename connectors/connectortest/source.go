package connectortest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// SourceConfig is what RunSource needs to know of a connector. Every function gives sources over the same sound data, of a few files
// and at least three rows.
type SourceConfig struct {
	// New makes a source that reads through fs.
	New func(tb testing.TB, fs file.FS) dataset.Source
	// Resplit makes sources over the same data that divide it into other splits.
	Resplit []func(tb testing.TB) dataset.Source
	// Rows is how many rows there are.
	Rows int
	// Served is set where the data is not read through fs, so that faults are the connector's own to test.
	Served bool
}

// RunSource runs the conformance suite.
func RunSource(t *testing.T, c SourceConfig) {
	base := func(tb testing.TB) dataset.Source { return c.New(tb, file.Local{}) }
	t.Run("identity", func(t *testing.T) { c.identity(t, base(t)) })
	t.Run("schema", func(t *testing.T) { c.schema(t, base(t)) })
	t.Run("replay", func(t *testing.T) { c.replay(t, base(t)) })
	t.Run("cursor", func(t *testing.T) { c.cursor(t, base(t)) })
	t.Run("blocks", func(t *testing.T) { c.blocks(t, base(t)) })
	t.Run("resplit", func(t *testing.T) { c.resplit(t, base(t)) })
	t.Run("projection", func(t *testing.T) { c.projection(t, base(t)) })
	t.Run("limit", func(t *testing.T) { c.limit(t, base(t)) })
	t.Run("cancel", func(t *testing.T) { c.cancel(t, base(t)) })
	if !c.Served {
		t.Run("faults", func(t *testing.T) { c.faults(t) })
	}
}

// identity: every row has a name of its own, and positions ascend within a file.
func (c SourceConfig) identity(t *testing.T, src dataset.Source) {
	rows := ReadAll(t, src, NewRuntime(t))
	if len(rows) != c.Rows {
		t.Fatalf("read %d rows, want %d", len(rows), c.Rows)
	}
	for i := 1; i < len(rows); i++ {
		if rows[i].Path == rows[i-1].Path && rows[i].Position <= rows[i-1].Position {
			t.Fatalf("positions of %s do not ascend: %d after %d", rows[i].Path, rows[i].Position, rows[i-1].Position)
		}
	}
	if again := ReadAll(t, src, NewRuntime(t)); !slices.Equal(rows, again) {
		t.Fatal("reading a second time gives other rows")
	}
	for _, s := range Splits(t, src, dataset.Cursor{}) {
		got, err := ReadSplit(t.Context(), src, NewRuntime(t), s, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got {
			if !slices.ContainsFunc(s.Ranges, func(x dataset.SplitRange) bool {
				return x.File.Path == r.Path && x.Start <= r.Position && r.Position < x.End
			}) {
				t.Fatalf("row %d of %s lies outside the ranges of its split", r.Position, r.Path)
			}
		}
	}
}

// schema: pinned by the first call.
func (c SourceConfig) schema(t *testing.T, src dataset.Source) {
	one, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two, err := src.Schema(t.Context())
	if err != nil || !one.Equal(two) {
		t.Fatalf("the second call gives %v, %v; the first gave %v", two, err, one)
	}
}

// replay: from any offset the rest of the split comes, with the same names.
func (c SourceConfig) replay(t *testing.T, src dataset.Source) {
	for _, s := range Splits(t, src, dataset.Cursor{}) {
		all, err := ReadSplit(t.Context(), src, NewRuntime(t), s, 0)
		if err != nil {
			t.Fatal(err)
		}
		first := s.Ranges[0]
		offsets := []uint64{first.Start, first.End}
		for i, r := range all {
			if r.Path == first.File.Path && (i < 50 || i%97 == 0) {
				offsets = append(offsets, r.Position, r.Position+1)
			}
		}
		for _, off := range offsets {
			var want []Row
			for _, r := range all {
				if r.Path != first.File.Path || r.Position >= off {
					want = append(want, r)
				}
			}
			got, err := ReadSplit(t.Context(), src, NewRuntime(t), s, off)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("replay of %s from %d gives %d rows, want the last %d of %d", first.File.Path, off, len(got), len(want), len(all))
			}
		}
	}
}

// cursor: behind any split the listing goes on with the rest.
func (c SourceConfig) cursor(t *testing.T, src dataset.Source) {
	splits := Splits(t, src, dataset.Cursor{})
	all := ReadAll(t, src, NewRuntime(t))
	done := 0
	for _, s := range splits {
		rows, err := ReadSplit(t.Context(), src, NewRuntime(t), s, 0)
		if err != nil {
			t.Fatal(err)
		}
		done += len(rows)
		last := s.Ranges[len(s.Ranges)-1]
		var rest []Row
		for _, s := range Splits(t, src, dataset.Cursor{Path: last.File.Path, End: last.End}) {
			rows, err := ReadSplit(t.Context(), src, NewRuntime(t), s, 0)
			if err != nil {
				t.Fatal(err)
			}
			rest = append(rest, rows...)
		}
		if !slices.Equal(rest, all[done:]) {
			t.Fatalf("behind %s at %d come %d rows, want %d", last.File.Path, last.End, len(rest), len(all)-done)
		}
	}
}

// blocks: the size of blocks changes nothing.
func (c SourceConfig) blocks(t *testing.T, src dataset.Source) {
	want := ReadAll(t, src, NewRuntime(t))
	for _, size := range []struct {
		rows  int
		bytes int64
	}{{1, 1 << 20}, {2, 1 << 20}, {1000, 1}, {1000, 100}} {
		rt := NewRuntime(t)
		rt.Rows, rt.Bytes = size.rows, size.bytes
		if got := ReadAll(t, src, rt); !slices.Equal(got, want) {
			t.Fatalf("blocks of %d rows or %d bytes give %d rows, want %d", size.rows, size.bytes, len(got), len(want))
		}
	}
}

// resplit: divided otherwise, the data gives the same set of named rows.
func (c SourceConfig) resplit(t *testing.T, src dataset.Source) {
	want := sorted(ReadAll(t, src, NewRuntime(t)))
	for i, other := range c.Resplit {
		if got := sorted(ReadAll(t, other(t), NewRuntime(t))); !slices.Equal(got, want) {
			t.Fatalf("division %d gives %d rows that differ from the %d of the first", i, len(got), len(want))
		}
	}
}

func sorted(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		if a.Position < b.Position {
			return -1
		}
		return 1
	})
	return rows
}

// projection: fewer columns, same rows and names.
func (c SourceConfig) projection(t *testing.T, src dataset.Source) {
	p, ok := src.(dataset.Projectable)
	if !ok {
		return
	}
	schema, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := ReadAll(t, src, NewRuntime(t))
	sets := [][]string{{}}
	for i := range schema.NumFields() {
		sets = append(sets, []string{schema.Field(i).Name})
	}
	sets = append(sets, []string{schema.Field(schema.NumFields() - 1).Name, schema.Field(0).Name})
	for _, want := range sets {
		some, err := p.Project(want)
		if err != nil {
			t.Fatal(err)
		}
		got := ReadAll(t, some, NewRuntime(t))
		if len(got) != len(all) {
			t.Fatalf("columns %v: %d rows, want %d", want, len(got), len(all))
		}
		for i, r := range got {
			full := all[i]
			full.Values = keep(full.Values, want)
			if r != full {
				t.Fatalf("columns %v, row %d: got %v, want %v", want, i, r, full)
			}
		}
	}
}

// keep leaves the lines of the named columns.
func keep(values string, names []string) string {
	var out strings.Builder
	for line := range strings.Lines(values) {
		if name, _, _ := strings.Cut(line, "="); slices.Contains(names, name) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// limit: the hint may shorten a split, never below the rows that are wanted, and never changes them.
func (c SourceConfig) limit(t *testing.T, src dataset.Source) {
	l, ok := src.(dataset.LimitHint)
	if !ok {
		return
	}
	for _, n := range []int64{1, 3} {
		for _, s := range Splits(t, src, dataset.Cursor{}) {
			all, err := ReadSplit(t.Context(), src, NewRuntime(t), s, 0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ReadSplit(t.Context(), l.LimitHint(n), NewRuntime(t), s, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) > len(all) || len(got) < min(int(n), len(all)) || !slices.Equal(got, all[:len(got)]) {
				t.Fatalf("with a limit of %d a split of %d rows gives %d, or others", n, len(all), len(got))
			}
		}
	}
}

// cancel: a cancelled context ends reading with its cause, and memory is given back.
func (c SourceConfig) cancel(t *testing.T, src dataset.Source) {
	cause := errors.New("enough")
	for _, s := range Splits(t, src, dataset.Cursor{}) {
		rt := NewRuntime(t)
		rt.Rows = 1
		ctx, stop := context.WithCancelCause(t.Context())
		r, err := src.Open(ctx, rt, s, 0)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Next(ctx)
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if b != nil {
			b.Release()
		}
		stop(cause)
		for n := 0; err == nil; n++ {
			if n > c.Rows {
				t.Fatal("a cancelled reader does not end")
			}
			if b, err = r.Next(ctx); err == nil {
				b.Release()
			}
		}
		if err != io.EOF && !errors.Is(err, cause) {
			t.Fatalf("a cancelled reader ends with %v, want the cause of its context", err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// faults: a disk that fails in the middle of a file is an error that names the file, never an early end.
func (c SourceConfig) faults(t *testing.T) {
	for _, after := range []int64{0, 1, 10, 100} {
		faulty := &FaultFS{FS: file.Local{}}
		src := c.New(t, faulty)
		if _, err := src.Schema(t.Context()); err != nil {
			t.Fatal(err)
		}
		splits := Splits(t, src, dataset.Cursor{})
		clean := ReadAll(t, src, NewRuntime(t))
		faulty.FailAfter(after)
		for _, s := range splits {
			_, err := ReadSplit(t.Context(), src, NewRuntime(t), s, 0)
			if err == nil && slices.ContainsFunc(s.Ranges, func(r dataset.SplitRange) bool {
				return r.File.Size > after && (r.End > uint64(after) || r.End == 1)
			}) {
				t.Fatalf("a read error after %d bytes goes unnoticed", after)
			}
			if err != nil && !errors.Is(err, ErrFault) {
				t.Fatalf("a read error after %d bytes becomes %v", after, err)
			}
			if err != nil && !slices.ContainsFunc(s.Ranges, func(r dataset.SplitRange) bool { return strings.Contains(err.Error(), r.File.Path) }) {
				t.Fatalf("the error names no file: %v", err)
			}
		}
		faulty.FailAfter(-1)
		if again := ReadAll(t, src, NewRuntime(t)); !slices.Equal(again, clean) {
			t.Fatal("after a read error the source gives other rows")
		}
	}
}
