package executor

import (
	"fmt"
	"os"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// scratch is the spill space of a run: files that are unlinked as soon as they are made, so that no crash leaves them behind.
type scratch struct {
	dir   string
	limit int64
	mu    struct {
		sync.Mutex
		used, peak int64
		files      []*os.File
	}
}

func newScratch(cfg Config) *scratch { return &scratch{dir: cfg.TempDir, limit: cfg.TempLimit} }

// file makes a temporary file.
func (s *scratch) file() (*dataset.ScratchFile, error) {
	f, err := os.CreateTemp(s.dir, "sluice-spill-*")
	if err != nil {
		return nil, fmt.Errorf("make spill file: %w; choose another place with --temp-dir", err)
	}
	if err := os.Remove(f.Name()); err != nil {
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
