package commit

import (
	"context"
	"errors"
	"fmt"
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

// RunInfo is what a target knows of one run.
type RunInfo struct {
	Run      string
	State    RunState
	Mode     string // "append", "overwrite", "incremental" or ""
	Command  string
	Owner    string // the process that works on it or did
	Started  time.Time
	Finished time.Time // zero until then
	Attempts int
	Manifest uint64 // its number; 0 until it is finished
	Parts    int
	Rows     int64 // committed
	Bytes    int64
	Failed   int64  // rows that failed, as far as the last commit knew
	Splits   int64  // journaled; 0 for finished runs
	Problem  string // of a damaged one
}

// Runs lists the runs on a target, oldest first. It changes nothing, apart from trying the lock where a run is unfinished.
func Runs(ctx context.Context, store dataset.Storage) ([]RunInfo, error) {
	names, err := store.List(ctx, "manifest")
	if err != nil {
		return nil, fmt.Errorf("list manifests: %w", err)
	}
	var out []RunInfo
	for _, n := range names {
		number, ok := manifestNumber(n)
		if !ok {
			continue
		}
		m, err := readManifest(ctx, store, number)
		if err != nil {
			return nil, err
		}
		out = append(out, RunInfo{Run: m.Run, State: RunFinished, Mode: m.Mode, Command: m.Command, Owner: m.Owner, Started: started(m.Run),
			Finished: m.Created, Attempts: m.Attempt, Manifest: m.Number, Parts: len(m.Parts), Rows: m.Rows, Bytes: m.Bytes, Failed: m.Failed})
	}
	open, err := openRuns(ctx, store.List)
	if err != nil || len(open) == 0 {
		return out, err
	}
	holder, at := holderOf(ctx, store), ""
	if holder != "" { // it goes on with the last one if it does not name one that is there
		at = open[len(open)-1]
	}
	for _, run := range open {
		if strings.Contains(holder, "(run "+run+")") {
			at = run
		}
	}
	for _, run := range open {
		if i := slices.IndexFunc(out, func(r RunInfo) bool { return r.Run == run }); i < 0 { // else its mark is all that is missing
			info := openInfo(ctx, store, run)
			if run == at {
				info.State, info.Owner = RunRunning, holder
			}
			out = append(out, info)
		}
	}
	slices.SortStableFunc(out, func(a, b RunInfo) int { return a.Started.Compare(b.Started) })
	return out, ctx.Err()
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

func openInfo(ctx context.Context, store dataset.Storage, run string) RunInfo {
	info := RunInfo{Run: run, Started: started(run)}
	u, err := loadLog(ctx, store, run)
	info.Mode, info.Command, info.Owner, info.Attempts = u.begin.Target, u.begin.Command, u.begin.Owner, u.attempt
	info.Parts, info.Failed, info.Splits = len(u.parts), u.fails.Failed, u.splits
	for _, p := range u.parts {
		info.Rows += p.Rows
		info.Bytes += p.Bytes
	}
	switch {
	case err != nil:
		info.State, info.Problem = RunDamaged, err.Error()
	case u.finish != nil:
		info.State = RunDecided
	case u.begun && u.generations > 0:
		info.State = RunUnfinished
	default:
		info.State = RunOrphan
	}
	return info
}

// Cleaned is a run whose files Clean removed.
type Cleaned struct {
	Run   string
	State RunState // that it had
	Files int
}

// Clean removes what dead runs have left on a target: logs and staged parts of runs that committed nothing, and staged parts of those
// that are finished. With unfinished set it gives up unfinished and damaged runs too, whose rows must then be read again. A run that is
// decided stays: its rows are all there. While a process holds the lock, nothing is touched and the error is a *dataset.LockedError.
func Clean(ctx context.Context, store dataset.Storage, unfinished bool) (out []Cleaned, err error) {
	names, err := store.List(ctx, "")
	if err != nil || len(names) == 0 {
		return nil, err
	}
	release, err := store.Lock(ctx, "lock", []byte("a process that cleans up"))
	if err != nil {
		return nil, fmt.Errorf("clean up: %w", err)
	}
	defer func() { err = errors.Join(err, release()) }()
	runs, err := Runs(ctx, lockedStorage{store})
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if r.State == RunDecided || !unfinished && (r.State == RunUnfinished || r.State == RunDamaged) {
			continue
		}
		n, err := removeRun(ctx, store, r.Run, r.State == RunFinished)
		if err != nil {
			return out, err
		}
		if n > 0 {
			out = append(out, Cleaned{r.Run, r.State, n})
		}
	}
	return out, nil
}

// lockedStorage is a storage whose lock the caller holds.
type lockedStorage struct{ dataset.Storage }

// Lock tells that nobody else works here.
func (lockedStorage) Lock(context.Context, string, []byte) (func() error, error) {
	return func() error { return nil }, nil
}

// removeRun removes the files of a run, its log from the end and before what it names; of a finished one only what is staged.
func removeRun(ctx context.Context, store dataset.Storage, run string, finished bool) (files int, err error) {
	names, err := store.List(ctx, run)
	if err != nil {
		return 0, err
	}
	slices.SortStableFunc(names, func(a, b string) int { // the log first
		return strings.Compare(stageRank(a, run), stageRank(b, run))
	})
	staged := slices.IndexFunc(names, func(n string) bool { return stageRank(n, run) == "1" })
	if staged < 0 {
		staged = len(names)
	}
	slices.Reverse(names[:staged])
	if finished {
		names = names[staged:]
	}
	for _, n := range names {
		if err := store.Remove(ctx, n); err != nil {
			return files, fmt.Errorf("remove run %s: %w", run, err)
		}
		files++
	}
	return files, nil
}

func stageRank(name, run string) string {
	if strings.HasPrefix(name, run+"/stage/") {
		return "1"
	}
	return "0"
}
