package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// scratch is the spill space of a run: files that are unlinked as soon as they are made, so that a crash leaves at most a name behind
// that was just made. Whoever spills there next sweeps it.
type scratch struct {
	dir   string
	limit int64
	swept sync.Once
	mu    struct {
		sync.Mutex
		used, peak int64
		files      []*os.File
	}
}

func newScratch(cfg Config) *scratch { return &scratch{dir: cfg.TempDir, limit: cfg.TempLimit} }

// file makes a temporary file.
func (s *scratch) file() (*dataset.ScratchFile, error) {
	s.swept.Do(func() { _, _ = SweepSpill(s.dir) }) // what cannot be removed stays for sluice clean, which says why
	f, err := os.CreateTemp(s.dir, dataset.SpillPrefix+"*")
	if err != nil {
		return nil, fmt.Errorf("make spill file: %w; choose another place with --temp-dir", err)
	}
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) { // another run swept it just now
		f.Close()
		return nil, fmt.Errorf("unlink spill file: %w", err)
	}
	s.mu.Lock()
	s.mu.files = append(s.mu.files, f)
	s.mu.Unlock()
	return &dataset.ScratchFile{File: f, Grow: s.grow}, nil
}

// grow counts n more bytes of spilled data. They stay counted until the run ends: spill files live that long.
func (s *scratch) grow(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit > 0 && s.mu.used+n > s.limit {
		return &dataset.FatalError{Err: fmt.Errorf("spill %d bytes: --temp-limit is %s and %s are used; raise it, or give more --memory",
			n, size(s.limit), size(s.mu.used))}
	}
	s.mu.used += n
	s.mu.peak = max(s.mu.peak, s.mu.used)
	return nil
}

func (s *scratch) spilled() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.peak
}

// close closes files that their operators left open.
func (s *scratch) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.mu.files {
		f.Close()
	}
	s.mu.files = nil
}

// SweepSpill removes the spill files that killed runs left in a folder ("": the system's) and returns how many there were. A live owner
// has its files open without a name, so none of them is found here; one whose name is swept in the moment before it is taken away goes on
// with it all the same.
func SweepSpill(dir string) (n int, err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("sweep spill files: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), dataset.SpillPrefix) || !e.Type().IsRegular() {
			continue
		}
		switch err := os.Remove(filepath.Join(dir, e.Name())); {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}
