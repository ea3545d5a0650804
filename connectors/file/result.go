package file

import (
	"os"
	"path/filepath"
	"strings"
)

// StateOf returns the storage with the state of a result at a local path, a folder or one file, and the path as a sink would take it. ok
// is false if no result of ours is there.
func StateOf(path string) (s *Storage, result string, ok bool) {
	abs, err := filepath.Abs(path)
	if err != nil || path == "" {
		return nil, "", false
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	for _, c := range []struct{ state, result string }{
		{filepath.Join(filepath.Dir(abs), "."+filepath.Base(abs)+".sluice"), strings.TrimSuffix(path, "/")},
		{filepath.Join(abs, "_sluice"), strings.TrimSuffix(path, "/") + "/"},
	} {
		if st, err := os.Stat(c.state); err == nil && st.IsDir() {
			return NewStorage(OSDisk{}, c.state), c.result, true
		}
	}
	return nil, "", false
}
