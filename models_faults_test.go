//go:build models

package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu/triton/tritontest"
)

// replicas are real Triton servers with the model Logged, each on a repository and ports of its own.
type replicas struct {
	servers []*tritontest.Server
	repos   []string
	ports   [][]string
}

func startReplicas(t *testing.T, n int) *replicas {
	r := &replicas{}
	for i := range n {
		r.repos = append(r.repos, tritontest.Repository(t, tritontest.Logged))
		r.ports = append(r.ports, tritontest.Ports(t, 3))
		r.servers = append(r.servers, tritontest.TritonAt(t, r.repos[i], r.ports[i]))
	}
	return r
}

// address names them all.
func (r *replicas) address() string {
	var hosts []string
	for _, s := range r.servers {
		hosts = append(hosts, s.Host)
	}
	return "triton://" + strings.Join(hosts, ",") + "/logged"
}

// done is how many rows the servers have worked on.
func (r *replicas) done(t *testing.T) (all int, each []int) {
	for _, repo := range r.repos {
		n := len(tritontest.Rows(t, repo))
		all, each = all+n, append(each, n)
	}
	return all, each
}

// floatRows writes n rows {"x":[number, …]} of so many numbers and returns the file.
func floatRows(t *testing.T, n, width int) string {
	path := filepath.Join(t.TempDir(), "in.jsonl")
	var b strings.Builder
	rest := strings.Repeat(",0.5", width-1)
	for i := range n {
		fmt.Fprintf(&b, "{\"x\":[%d%s]}\n", i, rest)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// watched reads the rows of a run through the model, checks that each comes in its turn with its own answer, and calls each, which may end
// the run. It returns how many came, and the report.
func watched(t *testing.T, address, file string, each func(row int) (goOn bool), options ...string) (rows int, rep dataset.Report) {
	s, err := sluice.Open(t.Context(), sluice.WithOrdered(), sluice.WithParallel(2))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for r, err := range s.ReadJSONL(file).Infer(address, "x -> y", options...).Rows(ctx, sluice.WithReport(&rep)) {
		if err != nil {
			t.Fatalf("after %d rows: %v", rows, err)
		}
		x, y := r["x"].([]any), r["y"].([]any)
		if x[0] != float64(rows) || len(y) != len(x) || float64(y[0].(float32)) != x[0] {
			t.Fatalf("row %d is %v with the answer %v", rows, x[0], y[0])
		}
		rows++
		if !each(rows) {
			break
		}
	}
	return rows, rep
}

func warned(rep dataset.Report, class, text string) bool {
	return slices.ContainsFunc(rep.Warnings, func(w dataset.Warning) bool {
		return w.Class == class && slices.ContainsFunc(w.Examples, func(e string) bool { return strings.Contains(e, text) })
	})
}

// TestKilledReplica kills one of three real servers mid-run with kill -9. All rows are answered once; the servers have done at most the rows more that
// were in flight at the dead one.
func TestKilledReplica(t *testing.T) {
	r := startReplicas(t, 3)
	const rows, batch, window = 12_000, 8, 32
	got, rep := watched(t, r.address(), floatRows(t, rows, 4), func(row int) bool {
		if row == rows/3 {
			r.servers[1].Kill()
		}
		return true
	}, fmt.Sprintf("batch=%d", batch), fmt.Sprintf("window=%d", window))
	all, each := r.done(t)
	t.Logf("%d rows; the servers worked on %d: %v", got, all, each)
	if got != rows || rep.RowsFailed != 0 {
		t.Errorf("%d rows came and %d failed, want %d and none", got, rep.RowsFailed, rows)
	}
	if all > rows+batch*window {
		t.Errorf("the servers worked on %d rows for %d: more than the %d in flight were done again", all, rows, batch*window)
	}
	if each[1] == 0 || each[1] > rows/2 || !warned(rep, "replica ejected", r.servers[1].Host) {
		t.Errorf("the killed server worked on %d rows; warnings are %+v", each[1], rep.Warnings)
	}
}

// TestRestartedReplica kills the only server mid-run and starts it again at its old place: it knows no shared memory any more, and must be told of it anew.
func TestRestartedReplica(t *testing.T) {
	r := startReplicas(t, 1)
	const rows, width = 3_000, 2_000
	restarted := make(chan struct{})
	got, rep := watched(t, r.address(), floatRows(t, rows, width), func(row int) bool {
		if row == rows/3 {
			r.servers[0].Kill()
			go func() {
				defer close(restarted)
				r.servers[0] = tritontest.TritonAt(t, r.repos[0], r.ports[0])
			}()
		}
		return true
	}, "batch=8")
	<-restarted
	all, _ := r.done(t)
	t.Logf("%d rows; the server worked on %d", got, all)
	if got != rows || rep.RowsFailed != 0 {
		t.Errorf("%d rows came and %d failed, want %d and none", got, rep.RowsFailed, rows)
	}
	if !warned(rep, "replica ejected", r.servers[0].Host) || !warned(rep, "replica returned", r.servers[0].Host) {
		t.Errorf("the warnings do not tell what happened: %+v", rep.Warnings)
	}
	for _, w := range rep.Warnings {
		if strings.Contains(fmt.Sprint(w.Examples), "shared memory") {
			t.Errorf("shared memory was given up: %+v", w)
		}
	}
}

// TestHungReplica stops one of two servers where it is. Its requests end at their deadline and are asked elsewhere; it is left alone until it goes on, and then
// works again.
func TestHungReplica(t *testing.T) {
	r := startReplicas(t, 2)
	file := floatRows(t, 400_000, 4)
	const hangAt, goOnAfter = 2_000, 4_000
	var hung, back int // rows that the server had worked on
	got, rep := watched(t, r.address(), file, func(row int) bool {
		switch {
		case row == hangAt:
			r.servers[1].Pause()
			_, each := r.done(t)
			hung = each[1]
		case row == hangAt+goOnAfter: // it came so far without it
			_, each := r.done(t)
			back = each[1]
			r.servers[1].Continue()
		case row > hangAt+goOnAfter && row%1000 == 0:
			_, each := r.done(t)
			return each[1] < back+1000 // more than what was stuck in it
		}
		return true
	}, "batch=8", "window=16", "timeout=2s")
	all, each := r.done(t)
	t.Logf("%d rows; the servers worked on %d: %v; the hung one had done %d and %d", got, all, each, hung, back)
	if got == 400_000 {
		t.Error("the hung server never worked again")
	}
	if back > hung+8*16 {
		t.Errorf("the hung server worked on %d rows while it was stopped", back-hung)
	}
	if !warned(rep, "replica ejected", r.servers[1].Host) || !warned(rep, "replica returned", r.servers[1].Host) || rep.RowsFailed != 0 {
		t.Errorf("%d rows failed, and the warnings are %+v", rep.RowsFailed, rep.Warnings)
	}
}

// TestAllReplicasGone: with no server left the run ends when its patience does, naming them.
func TestAllReplicasGone(t *testing.T) {
	r := startReplicas(t, 2)
	s, err := sluice.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows := 0
	for _, err = range s.ReadJSONL(floatRows(t, 20_000, 4)).Infer(r.address(), "x -> y", "batch=8", "patience=2s").Rows(t.Context()) {
		if err != nil {
			break
		}
		if rows++; rows == 500 {
			r.servers[0].Kill()
			r.servers[1].Kill()
		}
	}
	var fatal *dataset.FatalError
	if !errors.As(err, &fatal) || !strings.Contains(err.Error(), r.servers[0].Host) || !strings.Contains(err.Error(), "2s") {
		t.Errorf("the run ended with %v", err)
	}
}

// TestCrashOnTriton kills runs of the command on a real server.
func TestCrashOnTriton(t *testing.T) {
	same := tritontest.Model{Name: "same", Type: "TYPE_INT64", Batch: 64}
	crashWithAModel(t, "triton://"+tritontest.Triton(t, tritontest.Repository(t, same)).Host+"/same", 1)
}
