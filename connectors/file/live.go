package file

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// live is what the manifests say about a folder that is a result of ours: readers trust them, not what happens to lie there. While a run is
// publishing, or an overwrite takes the place of an older result, a listing may show files of both.
type live struct {
	at      string          // the folder
	parts   map[string]bool // names below it that are the result; nil: no run has finished
	pending []string        // runs that have begun there: their parts are no data before a manifest lists them
}

// manifestView is what a reader needs of a manifest. Package executor/commit writes and documents it.
type manifestView struct {
	Format   int    `json:"format"`
	Number   uint64 `json:"number"`
	Previous uint64 `json:"previous"`
	Full     bool   `json:"full"`
	Kept     []struct {
		Name string `json:"name"`
	} `json:"kept"`
	Parts []struct {
		Name string `json:"name"`
	} `json:"parts"`
}

const manifestFormat = 1

// liveIn reads the manifests of a folder; nil if it is no result of ours.
func liveIn(ctx context.Context, place FS, at string) (*live, error) {
	switch place.(type) {
	case Local, everywhere:
	default: // a file system of its own keeps no results
		return nil, nil
	}
	if s, err := schemeOf(at); IsURL(at) && (err != nil || s.Disk == nil) {
		return nil, nil
	}
	store, result, ok, err := StateOf(ctx, at)
	if err != nil || !ok {
		return nil, err
	}
	below := ""
	if !strings.HasSuffix(result, "/") { // a result name.ext that became a folder: its parts are named from beside it
		below = path.Base(at) + "/"
	}
	l := &live{at: strings.TrimSuffix(at, "/") + "/"}
	if at == "." {
		l.at = ""
	}
	if err := l.read(ctx, store, below); err != nil {
		return nil, fmt.Errorf("read %s: %w", at, err)
	}
	if l.parts == nil && len(l.pending) == 0 {
		return nil, nil
	}
	return l, nil
}

// read takes the live parts from the highest manifest and those before it, down to one that lists everything.
func (l *live) read(ctx context.Context, store dataset.Storage, below string) error {
	names, err := store.List(ctx, "manifest")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return l.readPending(ctx, store)
	}
	l.parts = map[string]bool{}
	for next := slices.Max(names); next != ""; {
		raw, err := store.Read(ctx, next)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("manifest %s is missing", next)
		}
		if err != nil {
			return err
		}
		var m manifestView
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("%s: %w", next, err)
		}
		if m.Format != manifestFormat || m.Previous >= m.Number {
			return fmt.Errorf("%s: format %d, number %d behind %d cannot be read by this version of Sluice", next, m.Format, m.Number, m.Previous)
		}
		for _, p := range slices.Concat(m.Parts, m.Kept) {
			if name, ok := strings.CutPrefix(p.Name, below); ok {
				l.parts[name] = true
			}
		}
		if next = ""; !m.Full && m.Previous > 0 {
			next = fmt.Sprintf("manifest/%020d.json", m.Previous)
		}
	}
	if len(l.parts) == 0 { // it is one file, and the folder is somebody else's
		l.parts = nil
	}
	return nil
}

func (l *live) readPending(ctx context.Context, store dataset.Storage) error {
	names, err := store.List(ctx, "")
	for _, n := range names {
		if run, rest, _ := strings.Cut(n, "/"); strings.HasPrefix(rest, "log/") && !slices.Contains(l.pending, run) {
			l.pending = append(l.pending, run)
		}
	}
	return err
}

// holds tells whether a file below the folder is part of the result.
func (l *live) holds(p string) bool {
	if l == nil {
		return true
	}
	name := strings.TrimPrefix(p, l.at)
	if l.parts != nil {
		return l.parts[name]
	}
	base := path.Base(name)
	return !slices.ContainsFunc(l.pending, func(run string) bool { return strings.HasPrefix(base, "part-") && strings.Contains(base, "-"+run+"-") })
}

// complete is an error if fewer files were found than the manifests list.
func (l *live) complete(found int) error {
	if l == nil || l.parts == nil || found >= len(l.parts) {
		return nil
	}
	return fmt.Errorf("read %s: its manifests list %d files, %d of them are not there: a run may be publishing another result just now, or they were removed; read it again, or write it again with --overwrite",
		cmp.Or(l.at, "."), len(l.parts), len(l.parts)-found)
}
