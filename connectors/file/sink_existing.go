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
	l := s.listing(live, mostExisting)
	l.all = len(live) == 0
	return l.run(ctx)
}

// Stale implements dataset.Target. Parts are directly in the folder or in key=value folders: an overwrite does not reach further.
func (s *Sink) Stale(ctx context.Context, live []dataset.Receipt) ([]dataset.Receipt, error) {
	l := s.listing(live, 0)
	l.near = true
	return l.run(ctx)
}

// listing looks for data in the target.
type listing struct {
	sink  *Sink
	known map[string]bool
	most  int  // 0: no bound
	all   bool // any file is data; else those with the format's extension
	near  bool // only folders named key=value are entered
	found []dataset.Receipt
}

func (s *Sink) listing(live []dataset.Receipt, most int) *listing {
	l := &listing{sink: s, known: make(map[string]bool, len(live)), most: most}
	for _, r := range live {
		l.known[r.Name] = true
	}
	return l
}

func (l *listing) run(ctx context.Context) ([]dataset.Receipt, error) {
	s := l.sink
	st, err := s.disk.Lstat(s.resultDir())
	switch {
	case notExist(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !st.IsDir() && s.single == "":
		return nil, dataset.Usagef("open sink %s: a file of that name exists, not a folder", s.typed)
	case !st.IsDir():
		err = l.note(s.single, st)
	default:
		err = l.folder(ctx, s.resultDir(), s.single)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return l.found, nil
}

func (l *listing) note(name string, info fs.FileInfo) error {
	if l.known[name] || !l.all && name != l.sink.single && !strings.HasSuffix(name, "."+l.sink.format.Extension()) {
		return nil
	}
	l.found = append(l.found, dataset.Receipt{Name: name, Bytes: info.Size()})
	if len(l.found) == l.most {
		return errEnough
	}
	return nil
}

func (l *listing) folder(ctx context.Context, dir, name string) error {
	entries, err := l.sink.disk.ReadDir(dir)
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
			if l.near && !strings.Contains(e.Name(), "=") {
				continue
			}
			err = l.folder(ctx, filepath.Join(dir, e.Name()), n)
		} else {
			info, ierr := e.Info()
			if notExist(ierr) {
				continue
			}
			if ierr != nil {
				return ierr
			}
			err = l.note(n, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
