package cli

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// result is a result of ours that a command was pointed to.
type result struct {
	store dataset.Storage
	path  string // absolute or a URL, with a slash at its end if it is a folder
	run   string // "" unless a run was named
}

// runID is how ids of runs begin: with the day.
var runID = regexp.MustCompile(`^\d{8}T\d*[\w-]*$`)

// findResult finds what a person named: the path of a result, or the id of a run on a result that this user has written.
func (a *app) findResult(ctx context.Context, what string) (*result, error) {
	res, err := a.resultAt(ctx, what)
	if res != nil || err != nil {
		return res, err
	}
	if runID.MatchString(what) {
		if res, err = a.resultOf(ctx, what); res != nil || err != nil {
			return res, err
		}
	}
	return nil, dataset.Usagef("%s is no result of Sluice, and no run of that name is known on this machine; give the path of the result", what)
}

// resultAt opens the state of the result at a path or URL; nil if there is none.
func (a *app) resultAt(ctx context.Context, path string) (*result, error) {
	if strings.Contains(path, ":") { // its scheme may be one that opening a session makes known
		if err := a.openSchemes(ctx); err != nil {
			return nil, err
		}
	}
	store, at, ok, err := file.StateOf(ctx, path)
	if err != nil || !ok {
		return nil, err
	}
	return &result{store: store, path: commit.Absolute(at)}, nil
}

// resultOf looks for a run among the results of this user.
func (a *app) resultOf(ctx context.Context, run string) (*result, error) {
	var failed error
	for _, path := range commit.UserIndex().Known() {
		res, err := a.resultAt(ctx, path)
		switch {
		case err != nil: // a bucket that cannot be reached may be the one, or not
			failed = errors.Join(failed, err)
			continue
		case res == nil:
			commit.UserIndex().Forget(path)
			continue
		}
		names, err := res.store.List(ctx, run)
		if err == nil && len(names) > 0 {
			res.run = run
			return res, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// openSchemes makes URLs known, which opening a session does.
func (a *app) openSchemes(ctx context.Context) error {
	if a.schemes {
		return nil
	}
	s, err := a.Open(ctx, Settings{MemoryBytes: a.DefaultMemory()})
	if err != nil {
		return err
	}
	a.schemes = true
	return s.Close()
}

// enter goes to the folder that the paths in the command of a run are relative to.
func enter(what string, begun *commit.Begun) error {
	if begun.Dir == "" {
		return nil
	}
	if err := os.Chdir(begun.Dir); err != nil {
		return dataset.Usagef("%s: its paths are relative to %s: %w", what, begun.Dir, err)
	}
	return nil
}
