package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

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
