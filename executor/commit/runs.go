package commit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// RunState is how far a run has come.
type RunState string

// The states.
const (
	RunRunning    RunState = "running"    // a process is at work on it
	RunUnfinished RunState = "unfinished" // it has committed rows; the same command goes on with it
	RunDecided    RunState = "decided"    // every row is durable; the next command on the target publishes it
	RunFinished   RunState = "finished"   // it is in the chain of manifests
	RunOrphan     RunState = "orphan"     // it has committed nothing: its files are for Clean
	RunDamaged    RunState = "damaged"    // its log cannot be read
)

// RunSummary is what is known of one run on a target.
type RunSummary struct {
	Run       string
	State     RunState
	Finished  bool      // it is in the chain of manifests
	Replaced  bool      // its rows are not part of the result any more
	Manifest  *Manifest // nil unless finished
	Mode      string    // as asked for: "append", "overwrite", "incremental", "retry" or ""
	Command   string
	Owner     string // the process that works on it or did
	Started   time.Time
	Ended     time.Time // zero until it is finished
	Attempts  int
	Parts     int
	Rows      int64 // committed
	Bytes     int64
	Failed    int64         // rows that failed, as far as the last commit knew
	Splits    int64         // journaled; 0 for finished runs
	Dead      []DeadSegment // of the rows set aside
	Retries   string        // the run whose failed rows it tries again
	RetriedBy string        // the finished run that tried them again, "" if none did
	Damaged   error         // why the log of an unfinished one cannot be read to its end
}

// DeadRows is how many rows the run set aside.
func (r *RunSummary) DeadRows() int64 { return deadRows(r.Dead) }

// Summaries returns all runs on a target: those that finished, in order, then those that did not. It changes nothing and takes no lock, so
// it cannot tell an unfinished run from one that is running: Runs does.
func Summaries(ctx context.Context, store dataset.Storage) ([]*RunSummary, error) {
	manifests, err := Manifests(ctx, store)
	if err != nil {
		return nil, err
	}
	var out []*RunSummary
	for _, m := range manifests {
		for _, r := range out {
			r.Replaced = r.Replaced || m.replaces()
			if m.Retries != "" && (r.Run == m.Retries || r.Retries == m.Retries) {
				r.RetriedBy = m.Run
			}
		}
		out = append(out, m.summary())
	}
	open, err := openRuns(ctx, store.List)
	if err != nil {
		return nil, err
	}
	for _, run := range open {
		if slices.ContainsFunc(out, func(r *RunSummary) bool { return r.Run == run }) { // its mark is all that is missing
			continue
		}
		s := openSummary(ctx, store, run)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		out = append(out, s)
	}
	return out, nil
}

// Runs is Summaries that tries the lock where a run is unfinished, to tell which one a process is at work on.
func Runs(ctx context.Context, store dataset.Storage) ([]*RunSummary, error) {
	out, err := Summaries(ctx, store)
	if err != nil {
		return nil, err
	}
	open := out[len(out):]
	if i := slices.IndexFunc(out, func(r *RunSummary) bool { return !r.Finished }); i >= 0 {
		open = out[i:]
	}
	if len(open) == 0 {
		return out, nil
	}
	holder := holderOf(ctx, store)
	if holder == "" {
		return out, ctx.Err()
	}
	at := open[len(open)-1] // it goes on with the last one if it does not name one that is there
	for _, r := range open {
		if strings.Contains(holder, "(run "+r.Run+")") {
			at = r
		}
	}
	at.State, at.Owner = RunRunning, holder
	return out, ctx.Err()
}

func (m *Manifest) summary() *RunSummary {
	return &RunSummary{Run: m.Run, State: RunFinished, Finished: true, Manifest: m, Mode: m.Mode, Command: m.Command, Owner: m.Owner,
		Started: started(m.Run), Ended: m.Created, Attempts: m.Attempt, Parts: len(m.Parts), Rows: m.Rows, Bytes: m.Bytes,
		Failed: m.Failed, Dead: m.Dead, Retries: m.Retries}
}

// started is the time in the id of a run.
func started(run string) time.Time {
	at, _, _ := strings.Cut(run, "-")
	t, err := time.ParseInLocation("20060102T150405", at, time.UTC)
	if err != nil {
		return time.Time{}
	}
	return t
}

// holderOf is what the process that holds the lock says of itself, or "".
func holderOf(ctx context.Context, store dataset.Storage) string {
	release, err := store.Lock(ctx, "lock", []byte("a process that lists runs"))
	if held, ok := errors.AsType[*dataset.LockedError](err); ok {
		return held.Owner
	}
	if err == nil {
		_ = release() // nothing was done under it
	}
	return ""
}

func openSummary(ctx context.Context, store dataset.Storage, run string) *RunSummary {
	s := &RunSummary{Run: run, Started: started(run)}
	u, err := loadLog(ctx, store, run)
	s.Mode, s.Command, s.Owner, s.Attempts, s.Retries = u.begin.Target, u.begin.Command, u.begin.Owner, u.attempt, u.begin.Retries
	s.Parts, s.Failed, s.Dead, s.Splits = len(u.parts), u.fails.Failed, u.fails.Dead, u.splits
	for _, p := range u.parts {
		s.Rows += p.Rows
		s.Bytes += p.Bytes
	}
	switch {
	case err != nil:
		s.State, s.Damaged = RunDamaged, err
	case u.finish != nil:
		s.State = RunDecided
	case u.begun && u.generations > 0:
		s.State = RunUnfinished
	default:
		s.State = RunOrphan
	}
	return s
}
