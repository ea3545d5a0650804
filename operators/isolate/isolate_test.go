package isolate

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// ids lists the rows that came out.
func ids(r *dt.Result) []int64 {
	out := []int64{}
	for _, b := range r.Blocks {
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	return out
}

func run(t *testing.T, p params, cfg dt.Config, names ...string) *dt.Result {
	t.Helper()
	mem := arraytest.NewMemory(t)
	return dt.Run(t, mem, Wrap(&decoder{p}, time.Second), cfg, files(t, mem, names...))
}

// TestOneRowIsLost has a file do to the decoder's process all that can be done to it: its row fails, with the signal, and no other.
func TestOneRowIsLost(t *testing.T) {
	for _, c := range []struct{ file, cause, class string }{
		{"faults.jpg", "the process crashed by signal SIGSEGV; it said: ", "process crashed (SIGSEGV)"},
		{"panics.jpg", "ended with status 2 in the middle of a call; it said: panic: index out of range in a decoder", "process ended"},
		{"killed.jpg", "killed by signal 9 (killed); perhaps by the system, for want of memory", "process killed (SIGKILL)"},
		{"ends.jpg", "ended with status 7", "process ended"},
		{"hangs.jpg", "it took longer than 1s; its process was killed (--isolate-timeout)", "timeout"},
		{"bad.jpg", "the file is cut off", "truncated"},
	} {
		for _, every := range []int{0, 1, 2} {
			t.Run(c.file, func(t *testing.T) {
				log := &dt.Journal{}
				cfg := dt.Config{Logger: log.Logger()}
				r := run(t, params{Every: every}, cfg, "a", "", "b", c.file, "c", "d", c.file, "e")
				if got, want := ids(r), []int64{0, 2, 4, 5, 7}; !slices.Equal(got, want) {
					t.Errorf("rows are %v, want %v", got, want)
				}
				if len(r.Failures) != 2 {
					t.Fatalf("%d rows failed: %v", len(r.Failures), r.Causes())
				}
				for i, f := range r.Failures {
					if row := f.Row.Position; row != []uint64{3, 6}[i] || !strings.Contains(f.Err.Error(), c.cause) {
						t.Errorf("failure %d is of row %d: %v, want %q", i, row, f.Err, c.cause)
					}
					if got := dataset.ClassOf(f.Err); got != c.class {
						t.Errorf("it is counted as %q, want %q", got, c.class)
					}
				}
				if c.file != "bad.jpg" && !strings.Contains(log.String(), "isolated step died") {
					t.Errorf("the death is not in the log:\n%s", log)
				}
			})
		}
	}
}

// TestSecondChance has a child killed once, for reasons of its own: nothing is lost.
func TestSecondChance(t *testing.T) {
	r := run(t, params{Every: 2, Dir: t.TempDir()}, dt.Config{}, "a", "b", "once.1", "c", "once.2", "once.3", "d")
	if got := ids(r); !slices.Equal(got, []int64{0, 1, 2, 3, 4, 5, 6}) || len(r.Failures) > 0 {
		t.Errorf("rows are %v, failures %v", got, r.Causes())
	}
}

// TestAllKill has every row kill its child.
func TestAllKill(t *testing.T) {
	r := run(t, params{}, dt.Config{}, "killed.1", "ends.2", "faults.3")
	if r.NumRows() != 0 || len(r.Failures) != 3 {
		t.Errorf("%d rows, failures %v", r.NumRows(), r.Causes())
	}
}

// TestFirstFailureEnds has the policy end the run at a row that a child failed while it goes on.
func TestFirstFailureEnds(t *testing.T) {
	r := run(t, params{}, dt.Config{OnError: dataset.OnErrorFail, WantError: true}, "a", "bad.1", "hangs.2")
	if r.Err == nil || len(r.Failures) != 1 {
		t.Errorf("the error is %v, failures %v", r.Err, r.Causes())
	}
}

// TestOpening has a child that cannot build the step: the run ends and says why. Errors keep what steers.
func TestOpening(t *testing.T) {
	r := run(t, params{}, dt.Config{}, "wrong.1", "a")
	if len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Err.Error(), "the library is too old") {
		t.Errorf("failures %v", r.Causes())
	}
	mem := arraytest.NewMemory(t)
	missing := Wrap(&renamed{decoder{}}, 0)
	r = dt.Run(t, mem, missing, dt.Config{WantError: true}, files(t, mem, "a"))
	if r.Err == nil || !strings.Contains(r.Err.Error(), `unknown step "no-such-step"`) {
		t.Errorf("a child that lacks the step says %v", r.Err)
	}
}

// renamed is a decoder that the child does not know.
type renamed struct{ decoder }

func (renamed) Recipe() []dataset.Ingredient { return []dataset.Ingredient{{Name: "no-such-step"}} }

// TestPrintedAndReserved: what a child prints reaches the log, and what it reserves is reserved here.
func TestPrintedAndReserved(t *testing.T) {
	log := &dt.Journal{}
	r := run(t, params{}, dt.Config{Logger: log.Logger()}, "prints.1", "reserves.1", "a")
	if r.NumRows() != 3 || !strings.Contains(log.String(), "decoder says: odd marker") {
		t.Errorf("%d rows, the log is\n%s", r.NumRows(), log)
	}
	if r.PeakReserved < 5<<20 {
		t.Errorf("%d bytes were reserved at most, want 5 MiB", r.PeakReserved)
	}
}

// TestManyBlocks has blocks of all sizes go through one child.
func TestManyBlocks(t *testing.T) {
	mem := arraytest.NewMemory(t)
	var ins []dt.Input
	names := []string{}
	for i := range 300 {
		names = append(names, []string{"a", "", "bad.1", "some name", "ä€😀"}[i%5])
	}
	ins = append(ins, files(t, mem, names...))
	r := dt.Run(t, mem, Wrap(&decoder{params{Every: 7}}, 0), dt.Config{BlockRows: 50}, ins...)
	if r.NumRows() != 180 || len(r.Failures) != 60 {
		t.Errorf("%d rows and %d failures, want 180 and 60", r.NumRows(), len(r.Failures))
	}
	for _, b := range r.Blocks {
		files, sizes := b.Column(1).(*array.String), b.Column(2).(*array.Int64)
		for i := range b.NumRows() {
			if int64(len(files.Value(i))) != sizes.Value(i) {
				t.Errorf("%q has size %d", files.Value(i), sizes.Value(i))
			}
		}
	}
}

// TestWrap leaves alone what says nothing of running elsewhere.
func TestWrap(t *testing.T) {
	plain := &notIsolable{}
	if got := Wrap(plain, 0); got != dataset.Spec(plain) {
		t.Errorf("it became %T", got)
	}
	w := Wrap(&decoder{}, 0)
	if _, err := w.Check(nil); err != nil {
		t.Fatal(err)
	}
	if n := w.Needs().OffHeapBytes; runtime.GOOS == "linux" && (n < 1<<20 || n > 200<<20) {
		t.Errorf("a child takes %s before it does anything", child.MiB(n))
	}
	if h := w.(dataset.Memory).Holds(); !strings.Contains(h, "child processes") {
		t.Errorf("explain says %q", h)
	}
}

type notIsolable struct{ dataset.Spec }
