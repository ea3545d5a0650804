//go:build sluicebench

package commit

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// Programs built with the tag sluicebench keep the state of runs (log, manifests, lock) in memory, and make nothing of it durable, if
// SLUICE_NULL_STATE is set: benchmarks measure what the state costs by leaving it out. With SLUICE_CPUPROFILE they write a profile up to the
// end of the run to that file.
func init() {
	if name := os.Getenv("SLUICE_CPUPROFILE"); name != "" {
		profile(name)
	}
	if os.Getenv("SLUICE_NULL_STATE") != "" {
		stateOf = func(dataset.Storage) dataset.Storage { return &nullStorage{objects: map[string][]byte{}} }
	}
}

func profile(name string) {
	f, err := os.Create(name)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "SLUICE_CPUPROFILE: %v\n", err)
		os.Exit(2)
	}
	crashpoint = func(at string) {
		if at == "run marked" {
			pprof.StopCPUProfile()
			_ = f.Close() // a profile that is not whole cannot be read
		}
	}
}

type nullStorage struct {
	mu      sync.Mutex
	objects map[string][]byte
}

func (s *nullStorage) Read(_ context.Context, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.objects[name]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return data, nil
}

func (s *nullStorage) Create(ctx context.Context, name string, data []byte) error {
	return s.Replace(ctx, name, data)
}

func (s *nullStorage) Replace(_ context.Context, name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[name] = slices.Clone(data)
	return nil
}

func (s *nullStorage) List(_ context.Context, prefix string) (out []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.objects {
		if prefix == "" || strings.HasPrefix(name, prefix+"/") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (s *nullStorage) Remove(context.Context, string) error { return nil }

func (s *nullStorage) Append(context.Context, string) (dataset.Log, error) { return nullLog{}, nil }

func (s *nullStorage) Lock(context.Context, string, []byte) (func() error, error) {
	return func() error { return nil }, nil
}

type nullLog struct{}

func (nullLog) Append([]byte) error { return nil }
func (nullLog) Sync() error         { return nil }
func (nullLog) Close() error        { return nil }
