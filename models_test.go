package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/gputest"
	"github.com/sluice-data/sluice/operators/infer"
)

// reusable is a fake that is opened and closed by several runs.
type reusable struct{ *gputest.Model }

func (reusable) Close() error { return nil }

// TestResumeWithAModel stops a run when part of its rows are committed, while its model goes away, and starts it again: all rows are there once, in
// the end, and the model is not asked again for those that were committed.
func TestResumeWithAModel(t *testing.T) {
	dir := t.TempDir()
	const files, each = 12, 50
	for f := range files {
		text := ""
		for i := range each {
			text += fmt.Sprintf("{\"x\":%d}\n", f*each+i)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("in%02d.jsonl", f)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	var asked atomic.Int64
	var stop atomic.Bool // when part of the result is on disk, the model goes away
	var once sync.Once
	about := gpu.Info{Name: "m", Version: "1", MaxBatch: 8, Inputs: []gpu.TensorInfo{{Name: "x", Type: gpu.Int64, Shape: []int64{-1}}},
		Outputs: []gpu.TensorInfo{{Name: "y", Type: gpu.Int64, Shape: []int64{-1}}}}
	run := func() (*dataset.Report, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var m *gputest.Model
		m = gputest.New(t, about, func(ctx context.Context, req *gpu.Request) ([]gpu.Tensor, error) {
			if stop.Load() && asked.Load() >= files*each/2 {
				if parts, _ := filepath.Glob(filepath.Join(out, "*.jsonl")); len(parts) > 0 || committed(out) {
					once.Do(func() {
						m.Kill(&dataset.TransientError{Err: errors.New("connection refused")})
						cancel()
					})
				}
			}
			asked.Add(req.Inputs[0].Len())
			t := req.Inputs[0]
			t.Name, t.Data = "y", append([]byte(nil), t.Data...)
			return []gpu.Tensor{t}, nil
		})
		deps := infer.Deps{Open: map[string]gpu.Opener{"fake": func(string, gpu.Options) (gpu.Model, error) { return reusable{m}, nil }}}
		spec, err := infer.Infer(deps, infer.Params{Model: "fake:m", Columns: []string{"x", "->", "y"}, Running: infer.Running{Batch: 4, Patience: 100 * time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := sluice.Open(ctx, sluice.WithCommitEvery(time.Millisecond), sluice.WithPartSize(400))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.Read(dir + "/in*.jsonl").Via(spec).WriteJSONL(out + "/").Run(ctx)
	}
	stop.Store(true)
	_, err := run()
	first := asked.Load()
	if err == nil {
		t.Fatal("the first run was not stopped: nothing was committed while rows were left")
	}
	stop.Store(false)
	report, err := run()
	if err != nil {
		t.Fatal(err)
	}
	s, err := sluice.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen := map[int64]int{}
	for r, err := range s.Read(out + "/*.jsonl").Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if r["x"] != r["y"] {
			t.Errorf("row %v has the answer of another", r)
		}
		seen[r["x"].(int64)]++
	}
	if len(seen) != files*each {
		t.Errorf("%d rows are there, want %d", len(seen), files*each)
	}
	for x, n := range seen {
		if n != 1 {
			t.Errorf("row %d is there %d times", x, n)
		}
	}
	if again := asked.Load() - first; first < files*each && again >= files*each {
		t.Errorf("the first run asked for %d rows, and the second for %d of %d (%+v)", first, again, files*each, report.Notes)
	}
}

// committed says whether a run has committed a part of its result, which is not visible yet.
func committed(out string) bool {
	found := false
	_ = filepath.WalkDir(out, func(path string, _ os.DirEntry, _ error) error {
		found = found || filepath.Ext(path) == ".jsonl"
		return nil
	})
	return found
}
