package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/dataset"
)

// namesPerRead is how many folder entries are held before those that cannot match are dropped.
const namesPerRead = 1024

// List implements FS. Names are sorted per folder, folders as if they ended in a slash, so that the whole listing is in byte order
// of paths.
func (Local) List(ctx context.Context, m *Matcher, after string) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) {
		w := walker{ctx: ctx, m: m, after: after, yield: yield}
		if err := w.folder(m.Root(), m.start()); err != nil && err != errStopped {
			yield(dataset.FileRef{}, err)
		}
	}
}

// errStopped unwinds a walk whose consumer wants no more.
var errStopped = errors.New("stopped")

// walker is one listing under way.
type walker struct {
	ctx     context.Context
	m       *Matcher
	after   string
	yield   func(dataset.FileRef, error) bool
	above   []folderID // the folders being walked, against links that lead back up
	scratch []state
}

type folderID struct{ dev, ino uint64 }

// folder lists one folder whose states are set.
func (w *walker) folder(dir string, set []state) error {
	open := dir
	if open == "" {
		open = "."
	}
	f, err := os.Open(open)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			return nil // nothing below can match; whoever asked reports an empty match
		}
		return fmt.Errorf("list folder %s: %w", open, err)
	}
	defer f.Close()
	fd := int(f.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("list folder %s: %w", open, err)
	}
	id := folderID{uint64(st.Dev), st.Ino} //nolint:unconvert // signed on some systems
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || slices.Contains(w.above, id) {
		return nil
	}
	w.above = append(w.above, id)
	defer func() { w.above = w.above[:len(w.above)-1] }()
	names, err := w.names(f, fd, set)
	if err != nil {
		return fmt.Errorf("list folder %s: %w", open, err)
	}
	for _, name := range names {
		if err := w.ctx.Err(); err != nil {
			return context.Cause(w.ctx)
		}
		if folder, ok := strings.CutSuffix(name, "/"); ok {
			err = w.enter(join(dir, folder), set, folder)
		} else {
			err = w.file(fd, dir, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enter walks a folder below, unless everything in it comes before the cursor.
func (w *walker) enter(dir string, set []state, name string) error {
	prefix := dir + "/"
	if prefix < w.after && !strings.HasPrefix(w.after, prefix) || w.m.leaves(dir) {
		return nil
	}
	return w.folder(dir, w.m.step(nil, set, name))
}

// file yields one matching file.
func (w *walker) file(fd int, dir, name string) error {
	p := join(dir, name)
	if p <= w.after {
		return nil
	}
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(fd, name, &st, 0) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			return fmt.Errorf("list %s: the link leads nowhere", p)
		}
		return nil // gone since the folder was read
	case err != nil:
		return &fs.PathError{Op: "stat", Path: p, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil
	}
	if !w.yield(pin(p, &st), nil) {
		return errStopped
	}
	return nil
}

// names reads the entries of a folder that can lead to a match, sorted; folders end in a slash.
func (w *walker) names(f *os.File, fd int, set []state) ([]string, error) {
	var out []string
	add := func(name string, kind fs.FileMode) {
		next := w.m.step(w.scratch[:0], set, name)
		w.scratch = next
		if len(next) == 0 {
			return
		}
		if kind == fs.ModeSymlink || kind == fs.ModeIrregular {
			kind = w.follow(fd, name)
		}
		switch {
		case kind == fs.ModeDir && w.m.enters(next):
			out = append(out, name+"/")
		case kind == 0 && w.m.accepts(next):
			out = append(out, name)
		}
	}
	if names, ok := w.m.only(set); ok {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
			add(name, fs.ModeIrregular)
		}
	} else {
		for {
			entries, err := f.ReadDir(namesPerRead)
			for _, e := range entries {
				add(e.Name(), e.Type())
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// follow finds what a name or the link of that name leads to. A broken link counts as a file, so that file reports it.
func (w *walker) follow(fd int, name string) fs.FileMode {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(fd, name, &st, 0) }); err != nil {
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return fs.ModeIrregular
		}
		return 0
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFREG:
		return 0
	}
	return fs.ModeIrregular
}
