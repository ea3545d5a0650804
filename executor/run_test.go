package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

func TestRowsComeOutOnce(t *testing.T) {
	for _, tc := range []struct {
		name                     string
		files, perFile, perBlock int
		steps                    []dataset.Spec
		want                     int
	}{
		{"source only", 3, 1000, 100, nil, 3000},
		{"empty", 0, 0, 1, []dataset.Spec{pass("a")}, 0},
		{"empty files", 3, 0, 1, []dataset.Spec{pass("a")}, 0},
		{"one row blocks", 2, 500, 1, []dataset.Spec{pass("a"), pass("b")}, 1000},
		{"filter", 4, 1000, 64, []dataset.Spec{keep("half", func(n int64) bool { return n%2 == 0 })}, 2000},
		{"filter all", 4, 1000, 64, []dataset.Spec{keep("none", func(int64) bool { return false }), pass("a")}, 0},
		{"expand", 2, 1000, 64, []dataset.Spec{expand(50)}, 100_000},
		{"limit", 100, 1000, 64, []dataset.Spec{limit(777)}, 777},
		{"limit one", 100, 1000, 64, []dataset.Spec{pass("a"), limit(1), pass("b")}, 1},
	} {
		for _, fuse := range []bool{true, false} {
			for _, ordered := range []bool{true, false} {
				t.Run(tc.name, func(t *testing.T) {
					l := newLocal(t, 32<<20, 3)
					d := dataset.From(&ints{files: tc.files, perFile: tc.perFile, perBlock: tc.perBlock}, l)
					for _, s := range tc.steps {
						if st := s.(*step); st.name == "limit" {
							s = limit(tc.want)
						}
						d = d.Via(s)
					}
					opts := dataset.Options{Ordered: ordered}
					opts.Batch.NoFuse = !fuse
					got := collect(t, d, opts)
					if len(got) != tc.want {
						t.Fatalf("got %d rows, want %d", len(got), tc.want)
					}
					if ordered && !slices.IsSorted(got) && tc.name != "expand" {
						t.Error("rows are out of order in an ordered run")
					}
					if in := l.pool.Stats().InUseBytes; in != 0 {
						t.Errorf("%d bytes were not released", in)
					}
				})
			}
		}
	}
}

func TestLimitStopsSource(t *testing.T) {
	l := newLocal(t, 32<<20, 2)
	var read atomic.Int64
	src := &ints{files: 10_000, perFile: 1000, perBlock: 100, fail: func(int, uint64) error { read.Add(1); return nil }}
	got := collect(t, dataset.From(src, l).Via(limit(10)), dataset.Options{})
	if len(got) != 10 {
		t.Fatalf("got %d rows, want 10", len(got))
	}
	if n := read.Load(); n > 20_000 {
		t.Errorf("the source gave %d of 100000 blocks for a limit of 10 rows", n)
	}
}

func TestBreakingOutCancelsAndWaits(t *testing.T) {
	l := newLocal(t, 32<<20, 2)
	for range dataset.From(&ints{files: 1000, perFile: 10_000, perBlock: 100}, l).Via(pass("a")).Blocks(t.Context(), dataset.Options{}) {
		break
	}
	if in := l.pool.Stats().InUseBytes; in != 0 {
		t.Errorf("%d bytes were not released", in)
	}
}

func TestErrorEndsRunWithOperatorName(t *testing.T) {
	l := newLocal(t, 32<<20, 2)
	bad := &step{name: "breaks", process: func(dataset.Runtime, int, *block.Block, dataset.Emit) error { return errors.New("no luck") }}
	_, err := dataset.From(&ints{files: 10, perFile: 1000, perBlock: 100}, l).Via(bad).Count(t.Context(), dataset.Options{})
	if err == nil || !strings.Contains(err.Error(), "breaks: no luck") {
		t.Errorf("error is %v, want it to name the operator and the cause", err)
	}
}

func TestPanicIsAttributed(t *testing.T) {
	l := newLocal(t, 32<<20, 2)
	bad := &step{name: "breaks", process: func(dataset.Runtime, int, *block.Block, dataset.Emit) error { panic("boom") }}
	_, err := dataset.From(&ints{files: 1, perFile: 10, perBlock: 10}, l).Via(bad).Count(t.Context(), dataset.Options{})
	want := "internal error in breaks at file-0000, row 0: boom"
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %q", err, want)
	}
}

func TestTransientErrorsAreRetriedWithoutRepeatingRows(t *testing.T) {
	for _, holds := range []bool{false, true} {
		l := newLocal(t, 32<<20, 2)
		var calls atomic.Int64
		flaky := &step{name: "flaky", holds: holds, process: func(_ dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
			half := b.NumRows() / 2
			if err := emit(b.Slice(0, half)); err != nil {
				return err
			}
			if calls.Add(1)%3 != 0 {
				return &dataset.TransientError{Err: errors.New("busy"), After: time.Microsecond}
			}
			return emit(b.Slice(half, b.NumRows()-half))
		}}
		got := collect(t, dataset.From(&ints{files: 2, perFile: 20, perBlock: 10}, l).ViaWith(flaky, []dataset.Option{dataset.Concurrency(1, 1)}), dataset.Options{})
		if !slices.Equal(sorted(got), upTo(40)) {
			t.Errorf("holding=%v: got %v", holds, sorted(got))
		}
	}
}

func TestReaderIsReopenedAfterTransientError(t *testing.T) {
	l := newLocal(t, 32<<20, 2)
	var n atomic.Int64
	src := &ints{files: 3, perFile: 100, perBlock: 10, fail: func(_ int, at uint64) error {
		if at == 50 && n.Add(1) <= 3 {
			return &dataset.TransientError{Err: errors.New("connection reset"), After: time.Microsecond}
		}
		return nil
	}}
	if got := collect(t, dataset.From(src, l), dataset.Options{}); !slices.Equal(sorted(got), upTo(300)) {
		t.Errorf("got %d rows, want 300 without repeats", len(got))
	}
}

func TestRowErrors(t *testing.T) {
	odd := func() *step {
		return &step{name: "even only", process: func(rt dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
			var idx []uint32
			for i := range b.NumRows() {
				if i%2 == 1 {
					if err := rt.Fail(b, i, errors.New("odd: refused")); err != nil {
						return err
					}
					continue
				}
				idx = append(idx, uint32(i))
			}
			out, err := block.Take(rt.Allocator(), b, idx)
			if err != nil {
				return err
			}
			return emit(out)
		}}
	}
	l := newLocal(t, 32<<20, 2)
	d := dataset.From(&ints{files: 2, perFile: 100, perBlock: 10}, l).Via(odd())
	_, err := d.Count(t.Context(), dataset.Options{})
	var re *dataset.RowError
	if !errors.As(err, &re) || re.Op != "even only" || !strings.Contains(err.Error(), "file-000") {
		t.Errorf("policy fail: error is %v, want a row error that names the step and the file", err)
	}
	p, _ := dataset.NewPlan(dataset.Options{OnError: dataset.OnErrorSkip}, d.To(nil))
	rows := 0
	for b, err := range l.Run(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		rows += b.NumRows()
	}
	if rows != 100 || p.Report.RowsFailed != 100 || len(p.Report.Failures) != 1 || p.Report.Failures[0].Count != 100 {
		t.Errorf("policy skip: %d rows, report %+v", rows, p.Report)
	}
}

func TestUnionOrdered(t *testing.T) {
	l := newLocal(t, 32<<20, 3)
	a := dataset.From(&ints{files: 3, perFile: 1000, perBlock: 10}, l)
	b := dataset.From(&ints{files: 3, perFile: 1000, perBlock: 10}, l)
	got := collect(t, a.Via(pass("union"), b), dataset.Options{Ordered: true})
	if want := append(upTo(3000), upTo(3000)...); !slices.Equal(got, want) {
		t.Errorf("got %d rows in another order", len(got))
	}
}

func TestAsyncDelivery(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		l := newLocal(t, 32<<20, 2)
		slow := &step{name: "fetch", needs: dataset.Resources{NoCPU: true, Window: 4}}
		slow.process = func(rt dataset.Runtime, _ int, b *block.Block, _ dataset.Emit) error {
			b.Retain()
			return rt.Async(func(context.Context) func(dataset.Emit) error {
				return func(emit dataset.Emit) error { return emit(b) }
			})
		}
		got := collect(t, dataset.From(&ints{files: 5, perFile: 100, perBlock: 7}, l).Via(slow), dataset.Options{Ordered: ordered})
		if !slices.Equal(sorted(got), upTo(500)) || ordered && !slices.IsSorted(got) {
			t.Errorf("ordered=%v: got %d rows, sorted %v", ordered, len(got), slices.IsSorted(got))
		}
	}
}

func TestMemoryStaysInBudget(t *testing.T) {
	const budget = 16 << 20
	l := newLocal(t, budget, 4)
	d := dataset.From(&ints{files: 20, perFile: 100_000, perBlock: 10_000}, l).Via(expand(50))
	p, _ := dataset.NewPlan(dataset.Options{}, d.To(nil))
	rows := 0
	for b, err := range l.Run(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		rows += b.NumRows()
		if s := l.pool.Stats(); s.InUseBytes+s.IdleBytes > budget {
			t.Fatalf("the pool holds %d bytes of a budget of %d", s.InUseBytes+s.IdleBytes, budget)
		}
	}
	if rows != 100_000_000 || p.Report.PeakBytes > budget {
		t.Errorf("%d rows, peak %d of %d", rows, p.Report.PeakBytes, budget)
	}
}

// late accepts its second input only after the first has ended.
type late struct{ *step }

func (late) PortPhase(port int) int { return port }

func TestDiamondSpillsTheBranchThatIsNotAcceptedYet(t *testing.T) {
	const files, rows = 40, 20_000
	l := newLocal(t, 32<<20, 2)
	src := dataset.From(&ints{files: files, perFile: rows, perBlock: 5000}, l)
	got := src.Via(expand(10)).Via(late{pass("join")}, src.Via(pass("other")))
	p, _ := dataset.NewPlan(dataset.Options{}, got.To(nil))
	var all int64
	seen := map[int64]int{}
	for b, err := range l.Run(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		all += int64(b.NumRows())
		for _, v := range b.Column(0).(*array.Int64).Int64Values() {
			seen[v]++
		}
	}
	if want := int64(files * rows * 11); all != want {
		t.Errorf("got %d rows, want %d", all, want)
	}
	for v, n := range seen {
		if n != 11 {
			t.Fatalf("row %d came %d times, want 11", v, n)
		}
	}
	if s := l.pool.Stats(); s.InUseBytes != 0 {
		t.Errorf("%d bytes were not released", s.InUseBytes)
	}
	if p.Report.SpilledBytes == 0 {
		t.Error("nothing was spilled: the test does not show what it says")
	}
}
