package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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

// fails is a step that fails the rows for which bad holds and passes the others on. before is called at the start of Process.
func fails(name string, holds bool, bad func(int64) bool, after func(first int64) error) *step {
	return &step{name: name, holds: holds, process: func(rt dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
		col := b.Column(0).(*array.Int64)
		var idx []uint32
		for i := range b.NumRows() {
			if !bad(col.Value(i)) {
				idx = append(idx, uint32(i))
				continue
			}
			if err := rt.Fail(b, i, errors.New("it is bad")); err != nil {
				return err
			}
		}
		out, err := block.Take(rt.Allocator(), b, idx)
		if err != nil {
			return err
		}
		if err := emit(out); err != nil || after == nil {
			return err
		}
		return after(col.Value(0))
	}}
}

// set is a target in a temporary folder.
type set struct {
	*file.Sink
	dir string
}

func newSet(t *testing.T) *set {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	s, err := file.NewSink(dir+"/", connectortest.TextFormat{}, file.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	return &set{s, dir}
}

// rows returns the numbers in the target, ascending.
func (s *set) rows(t *testing.T) (out []int64) {
	t.Helper()
	names, err := filepath.Glob(s.dir + "/part-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := connectortest.TextRows(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			n, err := strconv.ParseInt(strings.TrimSpace(l), 10, 64)
			if err != nil {
				t.Fatalf("row %q: %v", l, err)
			}
			out = append(out, n)
		}
	}
	return sorted(out)
}

// dead returns where the rows set aside were read, ascending, and the letters.
func (s *set) dead(t *testing.T) (out []int64, letters []*commit.DeadLetter) {
	t.Helper()
	store, err := s.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runs, err := commit.Summaries(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.RetriedBy != "" {
			continue
		}
		for l, err := range commit.ReadDead(t.Context(), store, r.Dead) {
			if err != nil {
				t.Fatal(err)
			}
			var f int64
			if _, err := fmt.Sscanf(l.Path, "file-%d", &f); err != nil {
				t.Fatalf("%+v: %v", l, err)
			}
			out = append(out, f*1000+int64(l.Identity.Position))
			letters = append(letters, l)
		}
	}
	return sorted(out), letters
}

var deadLetter = dataset.Options{OnError: dataset.OnErrorDeadLetter}

func seventh(n int64) bool { return n%7 == 3 }

func split(n int64, bad func(int64) bool) (good, failed []int64) {
	for i := range n {
		if bad(i) {
			failed = append(failed, i)
		} else {
			good = append(good, i)
		}
	}
	return good, failed
}

func checkSet(t *testing.T, s *set, good, failed []int64) []*commit.DeadLetter {
	t.Helper()
	if got := s.rows(t); !slices.Equal(got, good) {
		t.Errorf("%d rows, want %d", len(got), len(good))
	}
	got, letters := s.dead(t)
	if !slices.Equal(got, failed) {
		t.Errorf("%d dead letters, want %d", len(got), len(failed))
	}
	return letters
}

// TestRejectsAreSetAsideOnce: whatever the plan, a failed row is set aside once, and those beside it arrive.
func TestRejectsAreSetAsideOnce(t *testing.T) {
	good, failed := split(4000, seventh)
	flaky := func() func(int64) error {
		var calls atomic.Int64
		return func(int64) error {
			if calls.Add(1)%3 == 1 {
				return &dataset.TransientError{Err: errors.New("flaky")}
			}
			return nil
		}
	}
	async := &step{name: "async", needs: dataset.Resources{NoCPU: true, Window: 4}, process: func(rt dataset.Runtime, _ int, b *block.Block, _ dataset.Emit) error {
		b.Retain()
		return rt.Async(func(context.Context) func(dataset.Emit) error {
			return func(emit dataset.Emit) error {
				defer b.Release()
				return fails("async", false, seventh, nil).process(rt, 0, b, emit)
			}
		})
	}}
	for name, steps := range map[string][]dataset.Spec{
		"plain":            {fails("a", false, seventh, nil)},
		"in a chain":       {pass("p"), fails("a", false, seventh, nil), pass("q")},
		"retried":          {fails("a", false, seventh, flaky())},
		"nondeterministic": {fails("a", true, seventh, flaky())},
		"asynchronous":     {async},
		"two steps":        {fails("a", false, func(n int64) bool { return n%14 == 3 }, nil), fails("b", false, seventh, flaky())},
		"behind one":       {fails("a", false, seventh, nil), &step{name: "one", inst: dataset.One}},
	} {
		for _, parallel := range []int{1, 4} {
			for _, opts := range []dataset.Options{deadLetter, {OnError: dataset.OnErrorDeadLetter, Ordered: true, SeedSet: true, PartBytes: 2000}} {
				t.Run(fmt.Sprint(name, parallel, opts.SeedSet), func(t *testing.T) {
					l, s := newLocal(t, 64<<20, parallel), newSet(t)
					d := dataset.From(&ints{files: 4, perFile: 1000, perBlock: 61}, l)
					for _, spec := range steps {
						d = d.Via(spec)
					}
					rep, err := d.To(s).Run(t.Context(), opts)
					if err != nil {
						t.Fatal(err)
					}
					for _, dl := range checkSet(t, s, good, failed) {
						if dl.Operator == "" || dl.Class != "it is bad" || string(dl.Row) == "" || dl.Run != rep.Run {
							t.Errorf("letter %+v", dl)
						}
					}
					if rep.RowsFailed != int64(len(failed)) || rep.Targets[0].DeadLetters != rep.RowsFailed {
						t.Errorf("report: %d failed, %d set aside", rep.RowsFailed, rep.Targets[0].DeadLetters)
					}
				})
			}
		}
	}
}

// rottenInts is a source some of whose rows cannot be read, and which breaks off now and then.
type rottenInts struct {
	ints
	flaky *atomic.Int64 // nil: never
}

func (s *rottenInts) Open(ctx context.Context, rt dataset.Runtime, sp dataset.Split, offset uint64) (dataset.Reader, error) {
	rd, err := s.ints.Open(ctx, rt, sp, offset)
	if err != nil {
		return nil, err
	}
	return &rottenReader{rd.(*intReader), s}, nil
}

type rottenReader struct {
	*intReader
	s *rottenInts
}

// Next gives the good rows of the next block and reports the others, some of them ahead of the rows before them.
func (r *rottenReader) Next(ctx context.Context) (*block.Block, error) {
	b, err := r.intReader.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	var idx []uint32
	for i := range b.NumRows() {
		if id := b.Identity().At(i); seventh(b.Column(0).(*array.Int64).Value(i)) {
			row := dataset.FailedRow(id.File, id.Position)
			err := r.rt.Fail(row, 0, errors.New("it is bad"))
			row.Release()
			if err != nil {
				return nil, err
			}
		} else {
			idx = append(idx, uint32(i))
		}
	}
	if r.s.flaky != nil && r.s.flaky.Add(1)%5 == 2 {
		return nil, &dataset.TransientError{Err: errors.New("cut off")}
	}
	return block.Take(r.rt.Allocator(), b, idx)
}

// TestRejectsOfReaders: a row that cannot be read belongs to the range around it, also where the split is opened again.
func TestRejectsOfReaders(t *testing.T) {
	good, failed := split(4000, seventh)
	for _, perBlock := range []int{1, 2, 61, 1000} {
		for _, flaky := range []*atomic.Int64{nil, {}} {
			if perBlock < 60 && flaky != nil { // it waits after each break
				continue
			}
			l, s := newLocal(t, 64<<20, 2), newSet(t)
			src := &rottenInts{ints{files: 4, perFile: 1000, perBlock: perBlock}, flaky}
			rep, err := dataset.From(src, l).Via(pass("p")).To(s).Run(t.Context(), deadLetter)
			if err != nil {
				t.Fatal(err)
			}
			for _, dl := range checkSet(t, s, good, failed) {
				if dl.Operator != "read ints" || dl.Row != nil {
					t.Errorf("letter %+v", dl)
				}
			}
			if rep.RowsFailed != int64(len(failed)) {
				t.Errorf("blocks of %d: %d failed, want %d", perBlock, rep.RowsFailed, len(failed))
			}
		}
	}
}

// TestRejectsGoWhereTheRowWouldHave: of two targets, each keeps what failed on its way.
func TestRejectsGoWhereTheRowWouldHave(t *testing.T) {
	l, a, b := newLocal(t, 64<<20, 2), newSet(t), newSet(t)
	both := func(n int64) bool { return n%100 == 1 }
	d := dataset.From(&ints{files: 2, perFile: 1000, perBlock: 100}, l).Via(fails("shared", false, both, nil))
	plan, err := dataset.NewPlan(deadLetter, d.Via(fails("a", false, seventh, nil)).To(a), d.Via(pass("b")).To(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := dataset.Drain(t.Context(), l, plan); err != nil {
		t.Fatal(err)
	}
	good, failed := split(2000, func(n int64) bool { return both(n) || seventh(n) })
	checkSet(t, a, good, failed)
	good, failed = split(2000, both)
	checkSet(t, b, good, failed)
	// Each of them is tried again by itself.
	rep := &dataset.Report{}
	again := &dataset.Plan{Outputs: []dataset.Output{d.Via(pass("a")).To(a)}, Report: rep}
	if err := l.Retry(t.Context(), again, ""); err != nil {
		t.Fatal(err)
	}
	good, failed = split(2000, both)
	checkSet(t, a, good, failed)
	checkSet(t, b, good, failed)
}

func TestRetryOfRowsOfReaders(t *testing.T) {
	l, s := newLocal(t, 64<<20, 2), newSet(t)
	broken := &rottenInts{ints: ints{files: 4, perFile: 1000, perBlock: 61}}
	if _, err := dataset.From(broken, l).To(s).Run(t.Context(), deadLetter); err != nil {
		t.Fatal(err)
	}
	good, failed := split(4000, seventh)
	for range 2 {
		rep := &dataset.Report{}
		if err := l.Retry(t.Context(), &dataset.Plan{Outputs: []dataset.Output{dataset.From(broken, l).To(s)}, Report: rep}, ""); err != nil {
			t.Fatal(err)
		}
		checkSet(t, s, good, failed)
		if rep.RowsFailed != int64(len(failed)) || rep.RowsWritten != 0 || rep.RowsRead != 0 {
			t.Errorf("report %+v", rep)
		}
	}
	mended := &ints{files: 4, perFile: 1000, perBlock: 61} // the same source, and its rows can be read
	rep := &dataset.Report{}
	if err := l.Retry(t.Context(), &dataset.Plan{Outputs: []dataset.Output{dataset.From(mended, l).To(s)}, Report: rep}, ""); err != nil {
		t.Fatal(err)
	}
	checkSet(t, s, upTo(4000), nil)
	if rep.RowsRead != int64(len(failed)) || rep.RowsWritten != rep.RowsRead {
		t.Errorf("read %d rows, wrote %d, want %d", rep.RowsRead, rep.RowsWritten, len(failed))
	}
	rep = &dataset.Report{}
	if err := l.Retry(t.Context(), &dataset.Plan{Outputs: []dataset.Output{dataset.From(mended, l).To(s)}, Report: rep}, ""); err != nil || !rep.Complete {
		t.Errorf("nothing is left: %v, %+v", err, rep)
	}
}

// TestRowJSON: the row is kept where it is small.
func TestRowJSON(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "f", Type: arrow.PrimitiveTypes.Float64}}, nil)
	for _, tt := range []struct{ rows, want string }{
		{`[{"s":"a\"<b","f":1.5}]`, `{"s":"a\"\u003cb","f":1.5}`},
		{`[{"s":null,"f":0}]`, `{"s":null,"f":0}`},
		{`[{"s":"` + strings.Repeat("x", mostRowJSON) + `","f":0}]`, ""},
		{`[{"s":"` + strings.Repeat("<", mostRowJSON/5) + `","f":0}]`, ""}, // small, but not as JSON
	} {
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(tt.rows))
		if err != nil {
			t.Fatal(err)
		}
		b := block.New(rec, block.Identity{})
		if got := string(rowJSON(b, 0)); got != tt.want {
			t.Errorf("%.60s: %.60q, want %.60q", tt.rows, got, tt.want)
		}
		b.Release()
	}
}
