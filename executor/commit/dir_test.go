package commit

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// dirStorage is just enough storage in a folder for logs.
type dirStorage struct{ root string }

func (s dirStorage) Read(_ context.Context, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.root, name))
}
func (s dirStorage) Create(ctx context.Context, name string, data []byte) error {
	return s.Replace(ctx, name, data)
}
func (s dirStorage) Replace(_ context.Context, name string, data []byte) error {
	return os.WriteFile(filepath.Join(s.root, name), data, 0o600)
}
func (s dirStorage) Remove(_ context.Context, name string) error {
	return os.Remove(filepath.Join(s.root, name))
}
func (s dirStorage) Lock(context.Context, string, []byte) (func() error, error) {
	return func() error { return nil }, nil
}

func (s dirStorage) List(_ context.Context, prefix string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.root, prefix))
	var out []string
	for _, e := range entries {
		out = append(out, prefix+"/"+e.Name())
	}
	slices.Sort(out)
	return out, err
}

func (s dirStorage) Append(_ context.Context, name string) (dataset.Log, error) {
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return fileLog{f}, err
}

type fileLog struct{ f *os.File }

func (l fileLog) Append(p []byte) error { _, err := l.f.Write(p); return err }
func (l fileLog) Sync() error           { return nil }
func (l fileLog) Close() error          { return l.f.Close() }

// peakRSS is the most memory that the process has had, or 0 where the system does not tell.
func peakRSS() int64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
