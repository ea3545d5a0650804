package cli

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// result is a result of ours that a command was pointed to.
type result struct {
	store dataset.Storage
	path  string // absolute, with a slash at its end if it is a folder
	run   string // "" unless a run was named
}

// runID is how ids of runs begin: with the day.
var runID = regexp.MustCompile(`^\d{8}T\d*[\w-]*$`)

// findResult finds what a person named: the path of a result, or the id of a run on a result that this user has written.
func findResult(ctx context.Context, what string) (*result, error) {
	if store, path, ok := file.StateOf(what); ok {
		return &result{store: store, path: absolute(path)}, nil
	}
	if runID.MatchString(what) {
		for _, path := range knownResults() {
			store, p, ok := file.StateOf(path)
			if !ok {
				continue
			}
			if names, err := store.List(ctx, what); err == nil && len(names) > 0 {
				return &result{store: store, path: absolute(p), run: what}, nil
			}
		}
	}
	return nil, dataset.Usagef("%s is no result of Sluice, and no run of that name is known on this machine; give the path of the result", what)
}

// absolute makes a path absolute and keeps a slash at its end.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if strings.HasSuffix(path, "/") && abs != "/" {
		abs += "/"
	}
	return abs
}

// indexFolder holds one small file for each result that this user has written. It is a cache: what is true is beside the results.
func indexFolder() string {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "sluice", "results")
}

type indexEntry struct {
	Path string `json:"path"`
}

// remember notes a result in the index. That it could not is no failure of the run.
func remember(sink dataset.Sink) {
	t, ok := sink.(dataset.Target)
	dir := indexFolder()
	if !ok || dir == "" || strings.Contains(t.Locator(), "://") {
		return
	}
	path := absolute(t.Locator())
	raw, err := json.Marshal(indexEntry{path})
	if err != nil || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	sum := xxh3.HashString128(path).Bytes()
	name := filepath.Join(dir, hex.EncodeToString(sum[:])+".json")
	if _, err := os.Stat(name); err == nil {
		return
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return
	}
	_, err = tmp.Write(append(raw, '\n'))
	if cerr := tmp.Close(); err != nil || cerr != nil || os.Rename(tmp.Name(), name) != nil {
		_ = os.Remove(tmp.Name())
	}
}

// knownResults lists the index, and drops what is gone from it.
func knownResults() []string {
	dir := indexFolder()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		raw, err := os.ReadFile(name) //nolint:gosec // our own file
		var entry indexEntry
		if err != nil || !strings.HasSuffix(name, ".json") || json.Unmarshal(raw, &entry) != nil {
			continue
		}
		if _, _, ok := file.StateOf(entry.Path); !ok {
			_ = os.Remove(name)
			continue
		}
		out = append(out, entry.Path)
	}
	return out
}
