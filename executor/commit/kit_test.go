package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "key", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// world is a made-up run on a real folder: files of rows that readers, a filter and writers push through a Manager the way the
// executor does. It is plain data, so that a child process can be given one.
type world struct {
	Path      string // of the result
	Files     []inputFile
	Keep      int // of 10 rows, how many the filter keeps
	Lanes     int
	By        bool // partition by key
	Deferred  bool // the rows come from behind a barrier
	Ordered   bool
	Exact     bool
	PartBytes int64
	Target    dataset.TargetMode
	OpenParts int
	Seed      uint64 // of block sizes and interleaving
	Plan      string
	Dead      int // every so many rows fail and are set aside; 0: none
	Backends  string
	Jumps     bool // the clock jumps by days whenever it is asked

	disk    file.Disk
	mem     *memory.CheckedAllocator
	noInput bool
	reads   *atomic.Int64 // rows that were made
}

type inputFile struct {
	Path  string
	Rows  int
	Stamp int64
}

func files(n, rows int) []inputFile {
	out := make([]inputFile, n)
	for i := range out {
		out[i] = inputFile{fmt.Sprintf("in/%03d.rows", i), rows + i, 1_700_000_000 + int64(i)}
	}
	return out
}

func (f inputFile) ref() dataset.FileRef {
	return dataset.FileRef{Path: f.Path, Size: int64(f.Rows), ModTime: time.Unix(f.Stamp, 0)}
}

func (w world) keeps(f inputFile, row int) bool { return (row*7+f.Rows)%10 < w.Keep && !w.fails(row) }

func (w world) fails(row int) bool { return w.Dead > 0 && row%w.Dead == 3 }

// dead is the sorted rows that are set aside.
func (w world) dead() []string {
	var out []string
	for _, f := range w.Files {
		for r := range f.Rows {
			if w.fails(r) {
				out = append(out, rowText(f, r))
			}
		}
	}
	sort.Strings(out)
	return out
}

func rowText(f inputFile, row int) string { return fmt.Sprintf("%s:%06d", f.Path, row) }

func keyOf(row int) string { return string(rune('a' + row%5)) }

// expected is the sorted rows of the result.
func (w world) expected() []string {
	var out []string
	for _, f := range w.Files {
		for r := range f.Rows {
			if w.keeps(f, r) {
				out = append(out, rowText(f, r))
			}
		}
	}
	sort.Strings(out)
	return out
}

func (w world) sink() (dataset.Sink, error) {
	var layout file.Layout
	if w.By {
		layout.By = []string{"key"}
	}
	if file.IsURL(w.Path) {
		sink, err := file.OpenSink(w.Path, connectortest.TextFormat{}, layout)
		return sink, err
	}
	disk := w.disk
	if disk == nil {
		disk = file.OSDisk{}
	}
	return file.NewSinkOn(disk, w.Path, connectortest.TextFormat{}, layout)
}

func (w world) config() (commit.Config, error) {
	sink, err := w.sink()
	plan, perr := commit.Canonical(map[string]any{"steps": []any{map[string]any{"source": "rows", "params": w.Plan}}})
	cfg := commit.Config{Sink: sink, Schema: schema, Plan: plan, Run: commit.NewRunID(time.Now()), Lanes: max(1, w.Lanes),
		OpenParts: w.OpenParts, Backends: w.Backends, Deferred: func(uint32) bool { return w.Deferred },
		Options: dataset.Options{Target: w.Target, PartBytes: w.PartBytes, Ordered: w.Ordered || w.Exact, SeedSet: w.Exact}}
	if w.Dead > 0 {
		cfg.Options.OnError = dataset.OnErrorDeadLetter
	}
	if w.Jumps {
		cfg.Now = w.jumping(3)
		cfg.Run = commit.NewRunID(cfg.Now())
	}
	if !w.noInput {
		cfg.Inputs = func() iter.Seq2[commit.Input, error] {
			return func(yield func(commit.Input, error) bool) {
				for _, f := range w.Files {
					if !yield(commit.Input{File: f.ref()}, nil) {
						return
					}
				}
			}
		}
	}
	return cfg, errors.Join(err, perr)
}

// jumping is a clock that jumps by up to fifty days in either direction.
func (w world) jumping(stream uint64) func() time.Time {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(w.Seed, stream))
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(time.Duration(r.IntN(2400)-1200) * time.Hour)
	}
}

// run does the whole of it.
func (w world) run(ctx context.Context) (commit.Decision, dataset.TargetReport, error) {
	cfg, err := w.config()
	if err != nil {
		return commit.Decision{}, dataset.TargetReport{}, err
	}
	m, d, err := commit.Prepare(ctx, cfg)
	if err != nil || m == nil {
		return d, dataset.TargetReport{}, err
	}
	rt := &connectortest.Runtime{Mem: w.mem}
	err = w.push(ctx, rt, m)
	var report dataset.TargetReport
	if err == nil {
		report, err = m.Finish(ctx, rt)
	}
	return d, report, errors.Join(err, m.Abort(ctx))
}

// push reads, filters, cuts, coalesces and writes.
func (w world) push(ctx context.Context, rt dataset.Runtime, m *commit.Manager) error {
	rnd := rand.New(rand.NewPCG(w.Seed, 1))
	lanes := max(1, w.Lanes)
	queues := make([]chan *block.Block, lanes)
	errs := make([]error, lanes)
	var wg sync.WaitGroup
	for i := range queues {
		queues[i] = make(chan *block.Block, 2)
		wg.Go(func() {
			for b := range queues[i] {
				if errs[i] == nil {
					errs[i] = m.Write(ctx, rt, i, b)
				}
				b.Release()
			}
		})
	}
	c := &coalescer{w: w, rnd: rnd, out: func(b *block.Block) { queues[rnd.IntN(lanes)] <- b }}
	err := w.read(m, rnd, c)
	c.flush()
	for _, q := range queues {
		close(q)
	}
	wg.Wait()
	return errors.Join(append(errs, err)...)
}

// rowSource lists the files of a world, two splits a file. Its rows are made by hand.
type rowSource struct{ w world }

func (rowSource) Name() string                                  { return "rows" }
func (rowSource) Version() int                                  { return 1 }
func (s rowSource) Params() any                                 { return s.w.Plan }
func (rowSource) Schema(context.Context) (*arrow.Schema, error) { return schema, nil }

func (s rowSource) Splits(_ context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		for _, f := range s.w.Files {
			half := uint64(f.Rows / 2)
			for _, r := range [][2]uint64{{0, half}, {half, uint64(f.Rows)}} {
				if f.Path < after.Path || f.Path == after.Path && r[1] <= after.End {
					continue
				}
				if !yield(dataset.Split{Ranges: []dataset.SplitRange{{File: f.ref(), Start: r[0], End: r[1]}}, Bytes: 1}, nil) {
					return
				}
			}
		}
	}
}

func (rowSource) Open(context.Context, dataset.Runtime, dataset.Split, uint64) (dataset.Reader, error) {
	return nil, errors.ErrUnsupported
}

// read emits the blocks of what is to be read.
func (w world) read(m *commit.Manager, rnd *rand.Rand, c *coalescer) error {
	feed, err := commit.NewFeed(0, []*commit.Manager{m}, w.Deferred)
	if err != nil {
		return err
	}
	byPath := map[string]inputFile{}
	for _, f := range w.Files {
		byPath[f.Path] = f
	}
	now, clock := time.Now(), w.jumping(4)
	for s, err := range feed.Splits(context.Background(), rowSource{w}) {
		if err != nil {
			return err
		}
		for i := range s.Ranges {
			r := &s.Ranges[i]
			for at := feed.Start(r); at < feed.Stop(r); {
				n := min(r.End-at, 1+rnd.Uint64N(97))
				w.emit(feed, m, byPath[r.File.Path], r.ID, at, int(n), c)
				at += n
			}
		}
		if rnd.IntN(3) == 0 {
			if now = now.Add(time.Hour); w.Jumps {
				now = clock()
			}
			m.Tick(now)
		}
	}
	return nil
}

func (w world) emit(feed *commit.Feed, m *commit.Manager, f inputFile, id *block.File, first uint64, n int, c *coalescer) {
	t := commit.NewToken([]block.Range{{File: id, First: first, End: first + uint64(n)}}, []*commit.Manager{m})
	defer t.Settle()
	var kept []uint32
	ids, keys := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		row := int(first) + i
		if w.fails(row) {
			l := &commit.DeadLetter{Operator: "fail", Class: "odd", Message: rowText(f, row), Attempts: 1}
			_ = m.SetAside(t, block.RowID{File: id, Position: uint64(row)}, l) // the manager remembers a failure
		}
		if w.keeps(f, row) {
			kept = append(kept, uint32(i))
			ids.Append(rowText(f, row))
			keys.Append(keyOf(row))
		}
	}
	identity := block.FromRuns(block.Run{File: id, Token: t, First: first, N: uint32(n), Stride: 1}).Take(kept)
	b := block.New(block.FromColumns(schema, []arrow.Array{ids.NewArray(), keys.NewArray()}, len(kept)), identity)
	if keep, all := feed.Unread(b); !all {
		defer b.Release()
		var err error
		if b, err = block.Take(memory.DefaultAllocator, b, keep); err != nil {
			panic(err)
		}
	}
	if w.reads != nil {
		w.reads.Add(int64(n))
	}
	c.add(b)
}

// coalescer joins blocks at random, across tokens.
type coalescer struct {
	w    world
	rnd  *rand.Rand
	held []*block.Block
	out  func(*block.Block)
}

func (c *coalescer) add(b *block.Block) {
	if b.NumRows() == 0 {
		b.Release()
		return
	}
	if c.held = append(c.held, b); c.rnd.IntN(3) > 0 {
		c.flush()
	}
}

func (c *coalescer) flush() {
	if len(c.held) == 0 {
		return
	}
	ids := make([]block.Identity, len(c.held))
	cols := make([]arrow.Array, 2)
	rows := 0
	for k := range cols {
		var parts []arrow.Array
		for _, b := range c.held {
			parts = append(parts, b.Column(k))
		}
		cols[k], _ = array.Concatenate(parts, memory.DefaultAllocator)
	}
	for i, b := range c.held {
		ids[i] = b.Identity()
		rows += b.NumRows()
	}
	joined := block.New(block.FromColumns(schema, cols, rows), block.Concat(ids...))
	for _, b := range c.held {
		b.Release()
	}
	c.held = nil
	c.out(joined)
}

// onDisk is where the files of a path are, for a look at them: if the path is a URL, in a copy.
var onDisk = func(path string) string { return path }

// visible returns the data files that a reader would find, with their rows; every one must be whole.
func visible(path string) (map[string][]string, error) {
	out := map[string][]string{}
	err := filepath.WalkDir(strings.TrimSuffix(onDisk(path), "/"), func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if name := d.Name(); name[0] == '_' || name[0] == '.' {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		raw, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rows, err := connectortest.TextRows(raw)
		if err != nil {
			return fmt.Errorf("%s is half-written: %w", p, err)
		}
		for i, r := range rows {
			rows[i], _, _ = strings.Cut(r, "\t")
		}
		out[p] = rows
		return nil
	})
	return out, err
}

func allRows(t *testing.T, path string) []string {
	t.Helper()
	m, err := visible(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range slices.Sorted(mapKeys(m)) {
		out = append(out, m[p]...)
	}
	return out
}

func mapKeys[V any](m map[string]V) iter.Seq[string] {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func sameRows(t *testing.T, got, want []string) {
	t.Helper()
	got = slices.Clone(got)
	sort.Strings(got)
	if slices.Equal(got, want) {
		return
	}
	seen := map[string]int{}
	for _, r := range got {
		seen[r]++
	}
	for _, r := range want {
		seen[r]--
	}
	lost, twice := 0, 0
	for _, n := range seen {
		lost += max(0, -n)
		twice += max(0, n)
	}
	t.Fatalf("%d rows, want %d: %d lost, %d too many", len(got), len(want), lost, twice)
}

func mustRun(t *testing.T, w world) (commit.Decision, dataset.TargetReport) {
	t.Helper()
	d, r, err := w.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d, r
}

func slicesSort(s []string) { sort.Strings(s) }

func schemaOf(names ...string) *arrow.Schema {
	fields := make([]arrow.Field, len(names))
	for i, n := range names {
		fields[i] = arrow.Field{Name: n, Type: arrow.BinaryTypes.String, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// nullTarget is a target whose writers take rows and write nothing.
type nullTarget struct{ dataset.Target }

func (nullTarget) NewWriter(_ context.Context, _ dataset.Runtime, p dataset.Part, _ *arrow.Schema) (dataset.Writer, error) {
	return &nullWriter{part: p}, nil
}

type nullWriter struct {
	part dataset.Part
	rows int64
}

func (w *nullWriter) Write(_ context.Context, b *block.Block) error {
	w.rows += int64(b.NumRows())
	return nil
}
func (w *nullWriter) Bytes() int64    { return 0 }
func (w *nullWriter) Buffered() int64 { return 0 }
func (w *nullWriter) Commit(context.Context) (dataset.Receipt, error) {
	return dataset.Receipt{Part: w.part, Name: fmt.Sprint("part-", w.part.Seq), Rows: w.rows}, nil
}
func (w *nullWriter) Abort(context.Context) error { return nil }
