package file

import (
	"context"
	"path"
	"path/filepath"

	"github.com/sluice-data/sluice/dataset"
)

// Restage implements commit.Restager: it returns the committed parts of an unfinished run that are not staged whole, and deletes what
// else a killed process left staged.
func (s *Sink) Restage(ctx context.Context, run string, committed []dataset.Receipt) (missing []dataset.Receipt, err error) {
	keep := make(map[string]bool, len(committed))
	for _, r := range committed {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := receiptData(r)
		if err != nil {
			return nil, err
		}
		st, err := s.disk.Lstat(s.stagePath(d.Staged))
		switch {
		case notExist(err):
			missing = append(missing, r)
			continue
		case err != nil:
			return nil, err
		}
		same := st.Mode().IsRegular() && st.Size() == r.Bytes
		if same && st.ModTime().UnixNano() != d.ModTime {
			if same, err = s.sameHash(s.stagePath(d.Staged), r); err != nil {
				return nil, err
			}
		}
		if !same {
			missing = append(missing, r)
			continue
		}
		keep[d.Staged] = true
	}
	if len(missing) > 0 {
		return missing, nil
	}
	dir := path.Join(run, "stage")
	entries, err := s.disk.ReadDir(s.stagePath(dir))
	if notExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name := path.Join(dir, e.Name()); !keep[name] && !e.IsDir() {
			if err := s.removeQuiet(filepath.Join(s.stagePath(dir), e.Name())); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}
