package file

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// Keys is a place whose files have keys with slashes instead of folders: a bucket. Paths are whole URLs.
type Keys interface {
	// Keys streams the files whose paths begin with prefix and lie behind the path after ("" for all), in ascending byte order. If
	// folders is set, files that have another slash behind the prefix are gathered under that folder, listed once, with its slash.
	Keys(ctx context.Context, prefix, after string, folders bool) iter.Seq2[dataset.FileRef, error]
	// Stat is FS's.
	Stat(ctx context.Context, path string) (Info, error)
}

// ListKeys implements FS.List for a place of keys. Nothing but the page of the listing that is being read is held. A folder of which
// everything below may match is listed flat, others a level at a time, and so are all where folders are to be left out.
func ListKeys(ctx context.Context, k Keys, m *Matcher, after string) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) {
		w := keyWalker{ctx: ctx, keys: k, m: m, after: after, yield: yield}
		if err := w.folder(m.Root(), m.start()); err != nil && err != errStopped {
			yield(dataset.FileRef{}, err)
		}
	}
}

type keyWalker struct {
	ctx   context.Context
	keys  Keys
	m     *Matcher
	after string
	yield func(dataset.FileRef, error) bool
}

// folder lists what lies below dir, whose states are set.
func (w *keyWalker) folder(dir string, set []state) error {
	if len(set) == 0 {
		return nil
	}
	prefix := join(dir, "")
	if names, ok := w.m.only(set); ok {
		return w.named(prefix, set, names)
	}
	if w.m.all(set) && w.m.leave == nil {
		return w.flat(prefix, set)
	}
	part := prefix + w.m.namePrefix(set)
	for ref, err := range w.keys.Keys(w.ctx, part, w.from(prefix), true) {
		if err != nil {
			return err
		}
		name := ref.Path[len(prefix):]
		folder, isFolder := strings.CutSuffix(name, "/")
		if isFolder && folder == "" {
			return emptyName(ref.Path)
		}
		if name == "" { // the mark of an empty folder
			continue
		}
		next := w.m.step(nil, set, folder)
		switch {
		case isFolder:
			err = w.enter(ref.Path, next)
		case w.m.accepts(next):
			err = w.file(ref)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// from is where the listing of a folder begins: before the folder that the cursor lies in, for its listing has to go on.
func (w *keyWalker) from(prefix string) string {
	rest, inside := strings.CutPrefix(w.after, prefix)
	if !inside {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return prefix + name
}

// enter walks the folder whose path with its slash is prefix, unless everything in it comes before the cursor.
func (w *keyWalker) enter(prefix string, set []state) error {
	dir := strings.TrimSuffix(prefix, "/")
	if !w.m.enters(set) || prefix < w.after && !strings.HasPrefix(w.after, prefix) || w.m.leaves(dir) {
		return nil
	}
	return w.folder(dir, set)
}

func (w *keyWalker) file(ref dataset.FileRef) error {
	if ref.Path <= w.after {
		return nil
	}
	if !w.yield(ref, nil) {
		return errStopped
	}
	return nil
}

// named looks for names that are known, without listing the folder.
func (w *keyWalker) named(prefix string, set []state, names []string) error {
	var todo []string
	for _, n := range names {
		next := w.m.step(nil, set, n)
		if w.m.accepts(next) {
			todo = append(todo, n)
		}
		if w.m.enters(next) {
			todo = append(todo, n+"/")
		}
	}
	slices.Sort(todo)
	for _, n := range slices.Compact(todo) {
		folder, isFolder := strings.CutSuffix(n, "/")
		if isFolder {
			if err := w.enter(prefix+n, w.m.step(nil, set, folder)); err != nil {
				return err
			}
			continue
		}
		info, err := w.keys.Stat(w.ctx, prefix+n)
		if notExist(err) || err == nil && info.Dir {
			continue
		}
		if err == nil {
			err = w.file(info.FileRef)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flat lists all files below a folder and leaves out what does not match. Files of one folder follow each other nearly always, so the
// states of the last folder are kept.
func (w *keyWalker) flat(prefix string, set []state) error {
	after, last, states := "", "\x00", set
	if strings.HasPrefix(w.after, prefix) {
		after = w.after
	}
	for ref, err := range w.keys.Keys(w.ctx, prefix, after, false) {
		if err != nil {
			return err
		}
		rest := ref.Path[len(prefix):]
		cut := strings.LastIndexByte(rest, '/') + 1
		if dir := rest[:cut]; dir != last {
			last, states = dir, set
			for name := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
				if dir == "" {
					break
				}
				if name == "" {
					return emptyName(ref.Path)
				}
				states = w.m.step(nil, states, name)
			}
		}
		if rest[cut:] == "" || len(states) == 0 || !w.m.accepts(w.m.step(nil, states, rest[cut:])) {
			continue
		}
		if err := w.file(ref); err != nil {
			return err
		}
	}
	return nil
}

// emptyName refuses a key that no path means: tidying a path would take one of its slashes away.
func emptyName(path string) error {
	return fmt.Errorf("list %s: the key has an empty folder name (two slashes in a row), which paths cannot say; rename the object, or narrow the pattern so that it leaves it out", path)
}

// all reports whether anything below a folder in the states set may match, however deep.
func (m *Matcher) all(set []state) bool {
	for _, s := range set {
		if alt := m.alts[s.alt]; s.seg < len(alt) && (alt[s.seg].kind == deep || alt[s.seg].kind == tree) {
			return true
		}
	}
	return false
}

// namePrefix is what every name that a folder in the states set can match begins with.
func (m *Matcher) namePrefix(set []state) string {
	out, first := "", true
	for _, s := range set {
		alt := m.alts[s.alt]
		if s.seg == len(alt) {
			continue
		}
		text := alt[s.seg].text
		if alt[s.seg].kind == wildcard {
			if i := strings.IndexAny(text, `*?[{\`); i >= 0 {
				text = text[:i]
			}
		} else if alt[s.seg].kind != literal {
			return ""
		}
		if first {
			out, first = text, false
		}
		for !strings.HasPrefix(text, out) {
			out = out[:len(out)-1]
		}
	}
	return out
}
