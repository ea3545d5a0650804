package commit_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

const manyKeys = 2000

// manyRows writes n rows of manyKeys keys, mixed, in blocks of the given size.
func manyRows(t *testing.T, b *bench, n, size int) error {
	t.Helper()
	for at := 0; at < n; at += size {
		k := min(size, n-at)
		ids, keys := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
		for i := range k {
			ids.Append(fmt.Sprintf("%07d", at+i))
			keys.Append(strconv.Itoa((at + i) * 7919 % manyKeys))
		}
		tok := commit.NewToken([]block.Range{{File: b.id, First: uint64(at), End: uint64(at + k)}}, b.managers)
		blk := block.New(block.FromColumns(schema, []arrow.Array{ids.NewArray(), keys.NewArray()}, k),
			block.FromRuns(block.Run{File: b.id, Token: tok, First: uint64(at), N: uint32(k), Stride: 1}))
		tok.Settle()
		err := b.managers[0].Write(t.Context(), b.rt, 0, blk)
		blk.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// scratchIn makes spill files in a folder of the test, up to a limit of bytes in all.
func scratchIn(t *testing.T, limit int64) func() (*dataset.ScratchFile, error) {
	dir, used := t.TempDir(), int64(0)
	return func() (*dataset.ScratchFile, error) {
		f, err := os.CreateTemp(dir, "")
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { f.Close() })
		return &dataset.ScratchFile{File: f, Grow: func(n int64) error {
			if used += n; used > limit {
				return &dataset.FatalError{Err: errors.New("spill: no room")}
			}
			return nil
		}}, nil
	}
}

// TestManyPartitions writes far more partitions than files may be open, with rows held in memory, in one run on disk, and in so many
// runs that they are merged on the way.
func TestManyPartitions(t *testing.T) {
	const rows = 30_000
	var exact [][]string
	for _, c := range []struct {
		name           string
		held           int64
		ordered, exact bool
		size           int
	}{
		{"in memory", 64 << 20, false, false, 1000},
		{"in one run", 1 << 20, false, false, 1000},
		{"in many runs", 3 << 10, false, false, 100},
		{"ordered", 3 << 10, true, false, 100},
		{"exact", 3 << 10, true, true, 77},
		{"exact, other blocks", 100 << 10, true, true, 1234},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world{Path: quickDir(t) + "/out/", By: true, Ordered: c.ordered, Exact: c.exact, OpenParts: 8}
			cfg := config(t, w)
			cfg.OverflowBytes, cfg.Scratch = c.held, scratchIn(t, 1<<30)
			b := newBench(t, cfg)
			if err := manyRows(t, b, rows, c.size); err != nil {
				t.Fatal(err)
			}
			report, err := b.managers[0].Finish(t.Context(), b.rt)
			if err != nil {
				t.Fatal(err)
			}
			if report.Parts != manyKeys || report.Rows != rows {
				t.Errorf("%d parts of %d rows, want one for each of %d keys and %d rows", report.Parts, report.Rows, manyKeys, rows)
			}
			checkPartitions(t, w.Path, rows, c.ordered)
			if c.exact {
				exact = append(exact, layoutOf(t, w.Path))
			}
		})
	}
	if !slices.Equal(exact[0], exact[1]) {
		t.Error("exact runs over blocks of other sizes made other files")
	}
}

// checkPartitions checks that each row is in the folder of its key, once, and in the order of the input where that matters.
func checkPartitions(t *testing.T, dir string, rows int, ordered bool) {
	t.Helper()
	all, err := visible(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := make([]bool, rows)
	for p, ids := range all {
		key := strings.TrimPrefix(filepath.Base(filepath.Dir(p)), "key=")
		last := -1
		for _, id := range ids {
			n, err := strconv.Atoi(id)
			if err != nil || n >= rows || seen[n] || strconv.Itoa(n*7919%manyKeys) != key {
				t.Fatalf("row %s does not belong in %s or is there twice", id, p)
			}
			if seen[n] = true; ordered && n < last {
				t.Fatalf("%s: row %d comes after row %d", p, n, last)
			}
			last = n
		}
	}
	if i := slices.Index(seen, false); i >= 0 {
		t.Fatalf("row %d is lost", i)
	}
}

// layoutOf lists the files of a result by folder and number, with their rows, without the id of the run.
func layoutOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	all, err := visible(dir)
	if err != nil {
		t.Fatal(err)
	}
	for p, ids := range all {
		seq := strings.Split(filepath.Base(p), "-")[1]
		out = append(out, filepath.Base(filepath.Dir(p))+" "+seq+" "+strings.Join(ids, ","))
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}

// TestManyPartitionsFail lets the run fail where rows overflow: nothing may be kept in memory, and nothing be published.
func TestManyPartitionsFail(t *testing.T) {
	t.Run("no room to spill", func(t *testing.T) {
		w := world{Path: quickDir(t) + "/out/", By: true, OpenParts: 8}
		cfg := config(t, w)
		cfg.OverflowBytes, cfg.Scratch = 8<<10, scratchIn(t, 20<<10)
		b := newBench(t, cfg)
		err := manyRows(t, b, 30_000, 100)
		if err == nil || !strings.Contains(err.Error(), "no room") {
			t.Errorf("the run went on with %v", err)
		}
		aborted(t, b, w)
	})
	t.Run("a part cannot be opened", func(t *testing.T) {
		w := world{Path: quickDir(t) + "/out/", By: true, OpenParts: 8}
		cfg := config(t, w)
		cfg.OverflowBytes, cfg.Scratch = 8<<10, scratchIn(t, 1<<30)
		cfg.Sink = &stingySink{cfg.Sink.(*file.Sink), 500}
		b := newBench(t, cfg)
		if err := manyRows(t, b, 30_000, 1000); err != nil {
			t.Fatal(err)
		}
		if _, err := b.managers[0].Finish(t.Context(), b.rt); err == nil || !strings.Contains(err.Error(), "no more files") {
			t.Errorf("the run ended with %v", err)
		}
		aborted(t, b, w)
	})
}

func aborted(t *testing.T, b *bench, w world) {
	t.Helper()
	if err := b.managers[0].Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := visible(w.Path); err != nil || len(all) > 0 {
		t.Errorf("%d files are visible, %v", len(all), err)
	}
}

// stingySink opens so many parts and no more.
type stingySink struct {
	*file.Sink
	left int
}

func (s *stingySink) NewWriter(ctx context.Context, rt dataset.Runtime, part dataset.Part, in *arrow.Schema) (dataset.Writer, error) {
	if s.left--; s.left < 0 {
		return nil, errors.New("there are no more files")
	}
	return s.Sink.NewWriter(ctx, rt, part, in)
}

var _ dataset.Joiner = (*stingySink)(nil)

// TestPartitionRestarts kills nothing, but interrupts a run between generations: what overflowed of a committed one is read again by nobody.
func TestPartitionRestarts(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", By: true, OpenParts: 2, Files: files(6, 400), Keep: 10, PartBytes: 1 << 10, Lanes: 2}
	rt := connectortest.NewRuntime(t)
	cfg := config(t, w)
	cfg.OverflowBytes, cfg.Scratch = 1<<10, scratchIn(t, 1<<30)
	m, _, err := commit.Prepare(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.push(t.Context(), rt, m); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Checkpoint(t.Context()), m.Abort(t.Context())); err != nil {
		t.Fatal(err)
	}
	d, r := mustRun(t, w)
	if d.Kind != commit.Resume || r.Rows != int64(len(w.expected())) {
		t.Errorf("%s with %d rows, want to resume with %d", d.Kind, r.Rows, len(w.expected()))
	}
	sameRows(t, allRows(t, w.Path), w.expected())
}
