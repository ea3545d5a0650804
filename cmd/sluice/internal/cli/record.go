package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluice-data/sluice/cmd/sluice/internal/page"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
)

const (
	recordEvery = 250 * time.Millisecond // at first
	maxSamples  = 600                    // then every other one goes and the time between them doubles
)

// recorder keeps what a run did over time and writes the page about it.
type recorder struct {
	j       *job
	name    string
	plan    *executor.Explanation
	began   time.Time
	every   time.Duration
	samples []page.Sample
	done    chan struct{}
	wg      sync.WaitGroup
}

// recordRun begins to record. That the page cannot be written is found before the run.
func (j *job) recordRun(ctx context.Context, sink dataset.Sink) (observer, error) {
	name, err := filepath.Abs(j.flags.see.report)
	if err != nil {
		return nil, dataset.Usagef("--report: %w", err)
	}
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		return nil, dataset.Usagef("--report %s is a folder, want the name of a file", j.flags.see.report)
	}
	probe, err := os.CreateTemp(filepath.Dir(name), ".report-*")
	if err != nil {
		return nil, dataset.Usagef("--report: %w", err)
	}
	_, _ = probe.Close(), os.Remove(probe.Name())
	plan, err := j.session.Describe(ctx, j.built.Dataset.To(sink))
	if err != nil {
		return nil, err
	}
	r := &recorder{j: j, name: name, plan: plan, began: time.Now(), every: recordEvery, done: make(chan struct{})}
	r.wg.Go(r.loop)
	return r, nil
}

func (r *recorder) loop() {
	next := time.NewTimer(r.every)
	defer next.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-next.C:
			if rep, ok := r.j.look.snapshot(); ok {
				r.add(&rep)
			}
			next.Reset(r.every)
		}
	}
}

// add keeps a look at the run.
func (r *recorder) add(rep *dataset.Report) {
	s := page.Sample{At: rep.Wall, Read: rep.RowsRead, Written: rep.RowsWritten, Used: rep.UsedBytes, Spilled: rep.SpilledBytes, Slots: rep.Slots, InUse: rep.SlotsBusy,
		State: rep.State, Limiting: rep.Bottleneck.Stage}
	for i := range rep.Stages {
		s.StageOut, s.Held = append(s.StageOut, rep.Stages[i].RowsOut), append(s.Held, max(rep.Stages[i].HeldBytes, 0))
	}
	r.samples = append(r.samples, s)
	if len(r.samples) < maxSamples {
		return
	}
	kept := r.samples[:0]
	for i := 1; i < len(r.samples); i += 2 {
		kept = append(kept, r.samples[i])
	}
	r.samples, r.every = kept, 2*r.every
}

// end implements observer: it writes the page.
func (r *recorder) end(rep *dataset.Report, err error) {
	close(r.done)
	r.wg.Wait()
	r.add(rep)
	d := &page.Data{Command: r.j.settings.Options.Command, Version: r.j.Version, Began: r.began, Report: *rep, Samples: r.samples}
	if err != nil {
		d.Failed = err.Error()
	}
	d.Folder, _ = os.Getwd()
	r.plan.Measured(*rep, nil, "")
	d.Plan = r.plan.Text()
	if werr := r.write(d); werr != nil {
		fmt.Fprintf(r.j.Stderr, "warning: --report: %v\n", werr)
		return
	}
	if !r.j.flags.quiet {
		fmt.Fprintf(r.j.Stderr, "report: %s\n", printable(r.j.flags.see.report))
	}
}

// write replaces the file in one step.
func (r *recorder) write(d *page.Data) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(r.name), ".report-*")
	if err != nil {
		return err
	}
	if err = page.Write(tmp, d); err == nil {
		err = tmp.Chmod(0o644)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), r.name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
