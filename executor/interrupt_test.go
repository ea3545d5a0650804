package executor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// TestCrashByItself ends runs in every way but a kill, at random moments, while they commit all the time: blocks that are let go of then must
// not count as written. The next run gives the rows that are left.
func TestCrashByItself(t *testing.T) {
	const files, per = 12, 600
	rounds := 6
	if os.Getenv("SLUICE_CHAOS") != "" {
		rounds = 200
	}
	for _, how := range []string{"read error", "operator error", "row error", "panic", "interrupt", "cancel", "sink error"} {
		t.Run(how, func(t *testing.T) {
			failed, resumed := 0, 0
			for round := range rounds {
				r := rand.New(rand.NewPCG(uint64(round), 3))
				dir := t.TempDir()
				for try := 0; ; try++ {
					at := int64(-1)
					if try < 2 {
						at = r.Int64N(files * per)
					}
					rep, err := endsAt(t, how, dir, at, r)
					for _, n := range rep.Notes {
						if len(n) > 8 && n[:8] == "resumed " {
							resumed++
						}
					}
					if err == nil {
						break
					}
					if at < 0 {
						t.Fatal(err)
					}
					failed++
				}
				if got := sorted(numbersAt(t, dir+"/out")); !slices.Equal(got, upTo(files*per)) {
					t.Fatalf("round %d: %d rows, want %d", round, len(got), files*per)
				}
			}
			t.Logf("%d runs failed, %d went on with one", failed, resumed)
			if failed == 0 {
				t.Error("no run failed")
			}
		})
	}
}

// endsAt runs a plan that ends in the given way when it meets the number at.
func endsAt(t *testing.T, how, dir string, at int64, r *rand.Rand) (*dataset.Report, error) {
	t.Helper()
	const files, per = 12, 600
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	src := &opened{ints: &ints{files: files, perFile: per, perBlock: 1 + r.IntN(100)}, opens: map[string]int{}}
	var sink dataset.Sink = jsonSink(t, dir+"/out/")
	meets := func(rt dataset.Runtime, b *block.Block, emit dataset.Emit) error { return emit(b.Retain()) }
	met := func(n int64) bool { return at >= 0 && n == at }
	bad := func(f func(rt dataset.Runtime, b *block.Block, row int) error) func(dataset.Runtime, *block.Block, dataset.Emit) error {
		return func(rt dataset.Runtime, b *block.Block, emit dataset.Emit) error {
			for i, n := range b.Column(0).(*array.Int64).Int64Values() {
				if met(n) {
					if err := f(rt, b, i); err != nil {
						return err
					}
				}
			}
			return emit(b.Retain())
		}
	}
	switch how {
	case "read error":
		src.fail = func(file int, pos uint64) error {
			if at >= 0 && file == int(at/per) && pos > uint64(at%per) {
				return errPulled
			}
			return nil
		}
	case "operator error":
		meets = bad(func(dataset.Runtime, *block.Block, int) error { return errPulled })
	case "row error":
		meets = bad(func(rt dataset.Runtime, b *block.Block, row int) error { return rt.Fail(b, row, errPulled) })
	case "panic":
		meets = bad(func(dataset.Runtime, *block.Block, int) error { panic("boom") })
	case "interrupt":
		meets = bad(func(dataset.Runtime, *block.Block, int) error { cancel(dataset.ErrCanceled); return nil })
	case "cancel":
		meets = bad(func(dataset.Runtime, *block.Block, int) error { cancel(errPulled); return nil })
	case "sink error":
		sink = &badSink{Target: sink.(dataset.Target), at: at}
	}
	l := newLocal(t, 32<<20, 1+r.IntN(4))
	d := dataset.From(src, l).Via(&step{name: "meets", process: func(rt dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error { return meets(rt, b, emit) }}).Via(pass("a"))
	opts := dataset.Options{PartBytes: 2000, CommitEvery: 1}
	opts.Batch.NoFuse = true
	p, err := dataset.NewPlan(opts, d.To(sink))
	if err != nil {
		t.Fatal(err)
	}
	return p.Report, dataset.Drain(ctx, l, p)
}

// badSink fails when it is given the number at.
type badSink struct {
	dataset.Target
	at   int64
	rows atomic.Int64
}

func (s *badSink) NewWriter(ctx context.Context, rt dataset.Runtime, p dataset.Part, in *arrow.Schema) (dataset.Writer, error) {
	w, err := s.Target.NewWriter(ctx, rt, p, in)
	return &badWriter{w, s}, err
}

type badWriter struct {
	dataset.Writer
	s *badSink
}

func (w *badWriter) Write(ctx context.Context, b *block.Block) error {
	if n := w.s.rows.Add(int64(b.NumRows())); w.s.at >= 0 && n > w.s.at {
		return fmt.Errorf("write: %w", errPulled)
	}
	return w.Writer.Write(ctx, b)
}

// TestAfterEndWaits: a run must not begin to wait for its goroutines while the call that an interrupt made may still start one.
func TestAfterEndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var returned atomic.Bool
		stop := afterEnd(ctx, func() {
			time.Sleep(time.Second)
			returned.Store(true)
		})
		cancel()
		synctest.Wait()
		stop()
		if !returned.Load() {
			t.Error("stop returned before the call that had begun")
		}
		called := false
		afterEnd(t.Context(), func() { called = true })()
		synctest.Wait()
		if called {
			t.Error("called although it was stopped before the end")
		}
	})
}
