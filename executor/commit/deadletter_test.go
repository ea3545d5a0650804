package commit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// deadWorlds are crashWorlds with failing rows.
func deadWorlds(dir string) map[string]world {
	out := crashWorlds(dir)
	for name, w := range out {
		w.Dead = 11
		out[name] = w
	}
	return out
}

// sameDead checks that the finished runs have set aside exactly the rows that fail, and that no segment lies about that counts for nothing.
func sameDead(t *testing.T, w world) {
	t.Helper()
	store := storeOf(t, w)
	runs, err := commit.Summaries(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	listed := map[string]bool{}
	for _, r := range runs {
		if !r.Finished {
			t.Errorf("run %s is left unfinished", r.Run)
		}
		for _, s := range r.Dead {
			listed[s.Name] = true
		}
		for l, err := range commit.ReadDead(t.Context(), store, r.Dead) {
			if err != nil {
				t.Fatal(err)
			}
			if l.Run != r.Run || l.Identity == nil || fmt.Sprintf("%s:%06d", l.Path, l.Identity.Position) != l.Message {
				t.Errorf("a dead letter of run %s: %+v", r.Run, l)
			}
			got = append(got, l.Message)
		}
	}
	sort.Strings(got)
	if want := w.dead(); !slices.Equal(got, want) {
		t.Fatalf("%d dead letters, want %d", len(got), len(want))
	}
	names, err := store.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.Contains(n, "/dead/") && !listed[n] {
			t.Errorf("%s is left by an attempt that did not commit it", n)
		}
	}
}

// TestDeadLetters: in every kind of run the rows that fail are set aside once, and the others are written once.
func TestDeadLetters(t *testing.T) {
	for name, w := range deadWorlds(t.TempDir()) {
		for seed := range uint64(5) {
			w.Seed, w.Path = seed, strings.Replace(w.Path, filepath.Base(w.Path), fmt.Sprint(seed)+filepath.Base(w.Path), 1)
			_, rep := mustRun(t, w)
			sameRows(t, allRows(t, w.Path), w.expected())
			sameDead(t, w)
			if rep.DeadLetters != int64(len(w.dead())) || !strings.HasSuffix(rep.DeadAt, "/dead") {
				t.Errorf("%s: report %+v", name, rep)
			}
		}
	}
}

// TestKillWithDeadLetters kills runs at every crash point and runs them again.
func TestKillWithDeadLetters(t *testing.T) {
	kills, resumed := 0, 0
	for _, point := range append([]string{"dead letters durable"}, crashPoints...) {
		for name, w := range deadWorlds(t.TempDir()) {
			for hit := range int64(3) { // one attempt after the other
				if runChild(t, childJob{World: w, Point: point, Hit: 1 + hit}, 0) {
					kills++
				} else if point == "dead letters durable" && hit == 0 {
					t.Errorf("%s: it never passes %s", name, point)
				}
			}
			afterKill(t, name, w, w.expected())
			sameDead(t, w)
			runs, err := commit.Summaries(t.Context(), storeOf(t, w))
			if err != nil {
				t.Fatal(err)
			}
			if m := runs[len(runs)-1].Manifest; m.Attempt > 1 {
				resumed++
				if m.Failed != int64(len(w.dead())) {
					t.Errorf("%s, %s: %d rows failed by the manifest, want %d", point, name, m.Failed, len(w.dead()))
				}
			}
		}
	}
	t.Logf("%d kills, %d runs went on", kills, resumed)
	if kills < 50 || resumed < 10 {
		t.Errorf("%d kills, %d runs went on: too few to show anything", kills, resumed)
	}
}

// TestSkippedRowsAreCounted: under skip nothing is kept of a failed row but the count.
func TestSkippedRowsAreCounted(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/", Files: files(3, 100), Keep: 10, Lanes: 2, Dead: 10}
	cfg, err := w.config()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Options.OnError = dataset.OnErrorSkip
	rep := runConfig(t, w, cfg)
	runs, err := commit.Summaries(t.Context(), storeOf(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(len(w.dead())); len(runs) != 1 || runs[0].Failed != n || runs[0].DeadRows() != 0 || rep.DeadLetters != 0 {
		t.Errorf("runs %+v, report %+v, want %d failed", runs[0], rep, n)
	}
}

// TestDeadLettersSpill: what waits for its generation does not stay in memory.
func TestDeadLettersSpill(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/", Files: files(2, 3000), Keep: 10, Dead: 5}
	cfg, err := w.config()
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	cfg.Scratch = func() (*dataset.ScratchFile, error) {
		made++
		f, err := os.CreateTemp(t.TempDir(), "spill")
		return &dataset.ScratchFile{File: f}, err
	}
	commit.SetSpoolBuffer(t, 2000)
	runConfig(t, w, cfg)
	sameDead(t, w)
	if made == 0 {
		t.Error("nothing was spilled")
	}
	cfg.Scratch = func() (*dataset.ScratchFile, error) { return nil, errors.New("disk full") }
	w.Path = t.TempDir() + "/full/"
	if cfg.Sink, err = w.sink(); err != nil {
		t.Fatal(err)
	}
	if _, err := tryConfig(t.Context(), w, cfg); err == nil || !strings.Contains(err.Error(), "set row aside: disk full") {
		t.Errorf("a spill that fails: %v", err)
	}
}

// TestDeadLettersThatCannotBeWritten: without them their ranges are not committed.
func TestDeadLettersThatCannotBeWritten(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/", Files: files(2, 100), Keep: 10, Dead: 5}
	w.disk = &noDead{}
	_, _, err := w.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "write dead letters: ") {
		t.Fatalf("it ended with %v", err)
	}
	w.disk = nil
	mustRun(t, w)
	sameRows(t, allRows(t, w.Path), w.expected())
	sameDead(t, w)
}

// noDead is a disk without room for dead letters.
type noDead struct{ file.OSDisk }

func (d *noDead) Create(path string) (file.DiskFile, error) {
	if strings.Contains(path, "/dead/") {
		return nil, errors.New("no room")
	}
	return d.OSDisk.Create(path)
}

// TestDamagedDeadLetters: a segment that is not what was committed is an error that names it.
func TestDamagedDeadLetters(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/", Files: files(2, 100), Keep: 10, Dead: 5}
	mustRun(t, w)
	store := storeOf(t, w)
	runs, err := commit.Summaries(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	name := runs[0].Dead[0].Name
	data, err := store.Read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{data[:len(data)-5], bytes.Repeat([]byte("x"), len(data)), nil} {
		if err := store.Replace(t.Context(), name, bad); err != nil {
			t.Fatal(err)
		}
		err = nil
		for _, err = range commit.ReadDead(t.Context(), store, runs[0].Dead) {
		}
		if err == nil || !strings.Contains(err.Error(), "read dead letters "+name) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}

func runConfig(t *testing.T, w world, cfg commit.Config) dataset.TargetReport {
	t.Helper()
	rep, err := tryConfig(t.Context(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func tryConfig(ctx context.Context, w world, cfg commit.Config) (dataset.TargetReport, error) {
	m, _, err := commit.Prepare(ctx, cfg)
	if err != nil {
		return dataset.TargetReport{}, err
	}
	rt := &connectortest.Runtime{Mem: w.mem}
	var rep dataset.TargetReport
	if err = w.push(ctx, rt, m); err == nil {
		rep, err = m.Finish(ctx, rt)
	}
	return rep, errors.Join(err, m.Abort(ctx))
}
