package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// Set is the files that some patterns mean, in one file system. It is safe for concurrent use.
//
// Files come pattern by pattern, each pattern's in byte order of their paths. A file that several patterns match comes once, with the
// first of them.
type Set struct {
	fs       FS
	patterns []dataset.Pattern
	within   []string // extensions that are read of folders; nil: all
	warned   sync.Once
	mu       struct {
		sync.Mutex
		resolved []resolved
	}
}

// resolved is one pattern after a look at what is there.
type resolved struct {
	m      *Matcher
	exact  *dataset.FileRef // the pattern names one file
	folder bool             // the pattern names a folder
	live   *live            // the folder is a result of ours; nil: it is not
}

// NewSet makes a set. Nothing is looked up before the first use. Of patterns that are URLs the registered scheme is read, if fs is Local.
func NewSet(fs FS, patterns []dataset.Pattern) *Set {
	return &Set{fs: placeOf(fs, patterns), patterns: patterns}
}

// FoldersOnly returns the set with only the files of the given extensions read where a pattern names a folder as a whole. Files that a
// glob or a path names are always read.
func (s *Set) FoldersOnly(extensions []string) *Set {
	return &Set{fs: s.fs, patterns: s.patterns, within: extensions}
}

// OddPattern is the class of warnings about patterns.
const OddPattern = "pattern may not mean what it says"

// Warn reports what is odd about the patterns, once for the set, to a runtime's Warn.
func (s *Set) Warn(warn func(class, example string)) {
	s.warned.Do(func() {
		for _, p := range s.patterns {
			if w := PatternWarning(p); w != "" {
				warn(OddPattern, w)
			}
		}
	})
}

// FS returns the file system of the set.
func (s *Set) FS() FS { return s.fs }

// Patterns returns the patterns as typed.
func (s *Set) Patterns() []dataset.Pattern { return s.patterns }

// resolve looks up what each pattern means: a file, a folder or a glob. Only success is remembered: a failure may be that of a context
// that was cancelled.
func (s *Set) resolve(ctx context.Context) ([]resolved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.resolved != nil {
		return s.mu.resolved, nil
	}
	out := make([]resolved, 0, len(s.patterns))
	for _, p := range s.patterns {
		r, err := s.resolveOne(ctx, p)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	s.mu.resolved = out
	return out, nil
}

func (s *Set) resolveOne(ctx context.Context, p dataset.Pattern) (resolved, error) {
	if p.Text == "" {
		return resolved{}, dataset.Usagef("read files: a path is empty")
	}
	if p.Text == StdinPath && !p.Literal {
		m, err := compile(p, false)
		return resolved{m: m, exact: &dataset.FileRef{Path: StdinPath}}, err
	}
	if !p.Literal && isGlob(p.Text) {
		m, err := compile(p, false)
		return resolved{m: m}, err
	}
	at := clean(p.Text)
	switch at {
	case "":
		at = "."
	case StdinPath:
		at = "./-" // a file of that name
	}
	info, err := s.fs.Stat(ctx, at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return resolved{}, s.missing(ctx, p)
	case err != nil:
		return resolved{}, err
	case info.Stream:
		return resolved{}, dataset.Usagef("read %s: it is a pipe or a device; read it as standard input: - < %s", p.Text, p.Text)
	case info.Dir:
		m, err := compile(p, true)
		if err != nil {
			return resolved{}, err
		}
		l, err := liveIn(ctx, s.fs, at)
		return resolved{m: m, folder: true, live: l}, err
	case strings.HasSuffix(p.Text, "/"):
		return resolved{}, dataset.Usagef("read %s: it is a file, not a folder; leave out the slash", p.Text)
	}
	m, err := compile(dataset.Pattern{Text: p.Text, Literal: true}, false)
	return resolved{m: m, exact: &info.FileRef}, err
}

// Files streams the files after the one at path after ("" for all). A pattern that matches nothing is an error, unless the listing
// resumes inside or behind it.
func (s *Set) Files(ctx context.Context, after string) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) {
		rs, err := s.resolve(ctx)
		if err != nil {
			yield(dataset.FileRef{}, err)
			return
		}
		first := 0
		if after != "" {
			if first = s.owner(rs, after); first < 0 {
				yield(dataset.FileRef{}, fmt.Errorf("resume listing after %s: no pattern matches it", after))
				return
			}
		}
		for i := first; i < len(rs); i++ {
			if !s.pattern(ctx, rs, i, after, yield) {
				return
			}
			after = ""
		}
	}
}

// owner is the first pattern that matches a path, or -1.
func (s *Set) owner(rs []resolved, p string) int {
	for i, r := range rs {
		if r.m.Match(p) && !s.leavesOut(r, p) {
			return i
		}
	}
	return -1
}

// leavesOut reports whether a file that a pattern matches is left out for its extension, or because no manifest lists it.
func (s *Set) leavesOut(r resolved, p string) bool {
	return !r.live.holds(p) || r.folder && s.within != nil && !slices.Contains(s.within, Extension(p))
}

// pattern yields the files of pattern i and reports whether to go on.
func (s *Set) pattern(ctx context.Context, rs []resolved, i int, after string, yield func(dataset.FileRef, error) bool) bool {
	any, found := after != "", 0
	if ref := rs[i].exact; ref != nil {
		return after != "" || s.owner(rs, ref.Path) != i || yield(*ref, nil)
	}
	m, left := withLeave(ctx, rs[i].m)
	for ref, err := range s.fs.List(ctx, m, after) {
		if err != nil {
			yield(dataset.FileRef{}, err)
			return false
		}
		if rs[i].live.holds(ref.Path) {
			found++
		}
		if s.leavesOut(rs[i], ref.Path) {
			continue
		}
		any = true
		if i > 0 && s.owner(rs, ref.Path) != i {
			continue
		}
		if !yield(ref, nil) {
			return false
		}
	}
	any = any || *left
	if after == "" && !*left {
		if err := rs[i].live.complete(found); err != nil {
			yield(dataset.FileRef{}, err)
			return false
		}
	}
	if !any {
		yield(dataset.FileRef{}, s.missing(ctx, s.patterns[i]))
		return false
	}
	return true
}

// stat pins the file at a path that was listed before.
func (s *Set) stat(ctx context.Context, p string) (dataset.FileRef, error) {
	if p == StdinPath {
		return dataset.FileRef{Path: p}, nil
	}
	info, err := s.fs.Stat(ctx, p)
	return info.FileRef, err
}

// missing explains a pattern that matches nothing: it shows the nearest folder that exists, and what may have been meant.
func (s *Set) missing(ctx context.Context, p dataset.Pattern) error {
	at := clean(p.Text)
	info, err := s.fs.Stat(ctx, at)
	glob := !p.Literal && isGlob(p.Text)
	switch {
	case err == nil && info.Dir && s.within != nil:
		return dataset.Usagef("folder %q holds no files of the extensions %s", p.Text, strings.Join(s.within, ", "))
	case err == nil && info.Dir:
		return dataset.Usagef("folder %q holds no files (names that begin with _ or . are left out)", p.Text)
	case err == nil && glob:
		return dataset.Usagef("pattern %q matches no file, but one of exactly that name exists; quote the path to mean it", p.Text)
	}
	near := parent(at)
	for near != "." && !strings.HasSuffix(near, "/") {
		if info, err := s.fs.Stat(ctx, near); err == nil && info.Dir && !(glob && isGlob(near)) {
			break
		}
		near = parent(near)
	}
	if glob {
		hint := ""
		if w := PatternWarning(p); w != "" {
			hint = "; " + w
		}
		return dataset.Usagef("pattern %q matches no file; the nearest folder that exists is %q%s", p.Text, near, hint)
	}
	return dataset.Usagef("no such file or folder %q; the nearest folder that exists is %q", p.Text, near)
}

// parent is the folder of a path: "." above the first relative name, and the root, which ends in a slash, above the first other one.
func parent(p string) string {
	if p == "" {
		return "."
	}
	place, rest := SplitURL(p)
	return place + path.Dir(rest)
}
