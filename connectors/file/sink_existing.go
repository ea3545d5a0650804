package file

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sluice-data/sluice/dataset"
)

// mostExisting bounds the list of foreign data: it is shown to a person.
const mostExisting = 100

var errNotDir = syscall.ENOTDIR

var errEnough = errors.New("enough")

// Existing implements dataset.Target. Names that start with "_" or "." are no data.
func (s *Sink) Existing(ctx context.Context, live []dataset.Receipt) ([]dataset.Receipt, error) {
	known := make(map[string]bool, len(live))
	for _, r := range live {
		known[r.Name] = true
	}
	var out []dataset.Receipt
	found := func(name string, info fs.FileInfo) error {
		if known[name] || len(live) > 0 && !strings.HasSuffix(name, "."+s.format.Extension()) {
			return nil
		}
		r := dataset.Receipt{Name: name}
		if info != nil {
			r.Bytes = info.Size()
		}
		if out = append(out, r); len(out) == mostExisting {
			return errEnough
		}
		return nil
	}
	st, err := s.disk.Lstat(s.resultDir())
	switch {
	case notExist(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !st.IsDir() && s.single == "":
		return nil, dataset.Usagef("open sink %s: a file of that name exists, not a folder", s.typed)
	case !st.IsDir():
		err = found(s.single, st)
	default:
		err = s.existingIn(ctx, s.resultDir(), s.single, found)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return out, nil
}

func (s *Sink) existingIn(ctx context.Context, dir, name string, found func(string, fs.FileInfo) error) error {
	entries, err := s.disk.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Name()[0] == '_' || e.Name()[0] == '.' {
			continue
		}
		n := path.Join(name, e.Name())
		if e.IsDir() {
			err = s.existingIn(ctx, filepath.Join(dir, e.Name()), n, found)
		} else {
			info, ierr := e.Info()
			if notExist(ierr) {
				continue
			}
			err = found(n, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
