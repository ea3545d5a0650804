package commit

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// Index remembers where results are, so that a run can be found by its id and all runs of a user can be listed. It is a folder with one
// small file for each result, and a cache only: what is true lies beside the results. The zero value remembers nothing.
type Index struct{ dir string }

// UserIndex is the index under this user's state folder ($XDG_STATE_HOME, else ~/.local/state).
func UserIndex() Index {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return Index{}
		}
		base = filepath.Join(home, ".local", "state")
	}
	return Index{filepath.Join(base, "sluice", "results")}
}

type indexEntry struct {
	Path string `json:"path"`
}

// Absolute makes the place of a result independent of the working folder. A slash at its end stays; a URL is left as it is.
func Absolute(locator string) string {
	if strings.Contains(locator, "://") {
		return locator
	}
	abs, err := filepath.Abs(locator)
	if err != nil {
		return locator
	}
	if strings.HasSuffix(locator, "/") && abs != "/" {
		abs += "/"
	}
	return abs
}

func (x Index) name(path string) string {
	sum := xxh3.HashString128(path).Bytes()
	return filepath.Join(x.dir, hex.EncodeToString(sum[:])+".json")
}

// Remember notes a result. That it could not is nobody's failure.
func (x Index) Remember(locator string) {
	if x.dir == "" {
		return
	}
	path := Absolute(locator)
	name := x.name(path)
	if _, err := os.Stat(name); err == nil {
		return
	}
	raw, err := json.Marshal(indexEntry{path})
	if err != nil || os.MkdirAll(x.dir, 0o700) != nil {
		return
	}
	tmp, err := os.CreateTemp(x.dir, ".new-*")
	if err != nil {
		return
	}
	_, err = tmp.Write(append(raw, '\n'))
	if cerr := tmp.Close(); err != nil || cerr != nil || os.Rename(tmp.Name(), name) != nil {
		_ = os.Remove(tmp.Name()) // the next run tries again
	}
}

// Known lists the places of results, those on this machine first.
func (x Index) Known() []string {
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(x.dir, e.Name()))
		var entry indexEntry
		if err == nil && json.Unmarshal(raw, &entry) == nil && entry.Path != "" {
			out = append(out, entry.Path)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		if remote := strings.Contains(a, "://"); remote != strings.Contains(b, "://") {
			if remote {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	return out
}

// Forget drops a result that is gone.
func (x Index) Forget(path string) {
	if x.dir != "" {
		_ = os.Remove(x.name(path)) // it is asked for again at the next look
	}
}
