package file

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-data/sluice/dataset"
)

// Finish implements dataset.Sink: staged files get their final names, the folders are synced, and what is there is checked once
// more, so that a rename that was lost is seen now and not by a reader.
func (s *Sink) Finish(_ context.Context, receipts []dataset.Receipt) error {
	if err := s.unseal(); err != nil {
		return err
	}
	dirs := map[string]bool{}
	for _, r := range receipts {
		to, err := s.finalPath(r)
		if err != nil {
			return err
		}
		if !dirs[filepath.Dir(to)] {
			if _, err := mkdirDurable(s.disk, filepath.Dir(to)); err != nil {
				return fmt.Errorf("publish %s: %w", r.Name, err)
			}
			dirs[filepath.Dir(to)] = true
		}
	}
	if err := s.each(len(receipts), func(i int) error { return s.publish(receipts[i]) }); err != nil {
		return err
	}
	for dir := range dirs {
		if err := s.disk.SyncDir(dir); err != nil {
			return fmt.Errorf("publish %s: sync folder %s: %w", s.typed, dir, err)
		}
	}
	missing, differ, err := s.Verify(context.Background(), receipts)
	if err != nil {
		return err
	}
	if bad := append(missing, differ...); len(bad) > 0 {
		return fmt.Errorf("publish %s: %d of %d files did not arrive, the first is %s", s.typed, len(bad), len(receipts), bad[0].Name)
	}
	return nil
}

// publish gives one staged file its final name. Of a publication that is redone the staged file is gone already; the check at the end
// tells whether it arrived.
func (s *Sink) publish(r dataset.Receipt) error {
	d, err := receiptData(r)
	if err != nil {
		return err
	}
	to, err := s.finalPath(r)
	if err != nil {
		return err
	}
	if err := s.disk.Rename(s.stagePath(d.Staged), to); err != nil && !notExist(err) {
		return fmt.Errorf("publish %s: %w", r.Name, err)
	}
	return nil
}

// each calls f for 0 to n-1: one after the other on a disk of this machine, several at once where that is mostly waiting.
func (s *Sink) each(n int, f func(i int) error) error {
	r, remote := s.disk.(RemoteDisk)
	if !remote {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	var eg errgroup.Group
	eg.SetLimit(max(1, r.Parallel()))
	for i := range n {
		eg.Go(func() error { return f(i) })
	}
	return eg.Wait()
}

// Verify implements dataset.Target. The size and the modification time tell that a file is unchanged; if only the time differs (a
// restored copy), the bytes are hashed.
func (s *Sink) Verify(ctx context.Context, receipts []dataset.Receipt) (missing, differ []dataset.Receipt, err error) {
	found := make([]finding, len(receipts))
	err = s.each(len(receipts), func(i int) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		found[i], err = s.verify(receipts[i])
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for i, r := range receipts {
		switch found[i] {
		case isMissing:
			missing = append(missing, r)
		case differs:
			differ = append(differ, r)
		}
	}
	return missing, differ, nil
}

// finding is what Verify finds of one part.
type finding uint8

const (
	unchanged finding = iota
	isMissing
	differs
)

func (s *Sink) verify(r dataset.Receipt) (finding, error) {
	p, err := s.finalPath(r)
	if err != nil {
		return 0, err
	}
	st, err := s.disk.Lstat(p)
	switch {
	case notExist(err), errors.Is(err, errNotDir):
		return isMissing, nil
	case err != nil:
		return 0, err
	}
	d, err := receiptData(r)
	if err != nil {
		return 0, err
	}
	if !st.Mode().IsRegular() || st.Size() != r.Bytes {
		return differs, nil
	}
	if st.ModTime().UnixNano() == d.ModTime {
		return unchanged, nil
	}
	same, err := s.sameHash(p, r)
	if err != nil || same {
		return unchanged, err
	}
	return differs, nil
}

func (s *Sink) sameHash(path string, r dataset.Receipt) (bool, error) {
	f, err := s.disk.Open(path)
	if err != nil {
		return false, err
	}
	h := xxh3.New128()
	_, err = io.Copy(h, io.NewSectionReader(f, 0, r.Bytes))
	if err = errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("verify %s: %w", path, err)
	}
	sum := h.Sum128().Bytes()
	return hex.EncodeToString(sum[:]) == r.Hash, nil
}

// Remove implements dataset.Target. Folders that become empty go too, up to the target's own.
func (s *Sink) Remove(_ context.Context, receipts, keep []dataset.Receipt) error {
	replaced := map[string]bool{}
	folder := true // the result stays a folder
	for _, r := range keep {
		replaced[r.Name] = true
		folder = folder && !s.isSingle(r)
	}
	dirs := map[string]bool{}
	for _, r := range receipts {
		if replaced[r.Name] {
			continue
		}
		p, err := s.finalPath(r)
		if err != nil {
			return err
		}
		if err := s.disk.Remove(p); err != nil && !notExist(err) && !errors.Is(err, errNotDir) {
			return fmt.Errorf("remove %s: %w", p, err)
		}
		dirs[filepath.Dir(p)] = true
	}
	for dir := range dirs {
		s.removeEmpty(dir)
	}
	if st, err := s.disk.Lstat(s.resultDir()); s.single != "" && !folder && err == nil && st.IsDir() {
		if err := s.removeQuiet(filepath.Join(s.resultDir(), successName)); err != nil {
			return err
		}
		if err := s.disk.Remove(s.resultDir()); err != nil && !notExist(err) {
			return fmt.Errorf("replace folder %s by a file: %w (move what else is in it away, then run the same command again)", s.typed, err)
		}
	}
	return nil
}

// removeEmpty removes a folder of parts and those above it as long as they are empty.
func (s *Sink) removeEmpty(dir string) {
	for dir != s.resultDir() && strings.HasPrefix(dir, s.resultDir()) && s.disk.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
}

func (s *Sink) removeQuiet(path string) error {
	if err := s.disk.Remove(path); err != nil && !notExist(err) && !errors.Is(err, errNotDir) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// Seal implements dataset.Target. The mark of a one-file result is in its state folder.
func (s *Sink) Seal(_ context.Context, receipts []dataset.Receipt) error {
	dir := s.resultDir()
	if slices.ContainsFunc(receipts, s.isSingle) {
		dir = s.state
	}
	if _, err := mkdirDurable(s.disk, dir); err != nil {
		return spaceError(s.disk, err, dir)
	}
	p := filepath.Join(dir, successName)
	f, err := s.disk.Append(p)
	if err != nil {
		return spaceError(s.disk, err, p)
	}
	err = f.Close() // it is empty: its name is all there is to sync
	if err == nil {
		err = s.disk.SyncDir(dir)
	}
	return spaceError(s.disk, err, p)
}

func (s *Sink) unseal() error {
	return errors.Join(s.removeQuiet(filepath.Join(s.state, successName)), s.removeQuiet(filepath.Join(s.resultDir(), successName)))
}

// Discard implements dataset.Target.
func (s *Sink) Discard(_ context.Context, run string) error {
	if run == "" || strings.ContainsAny(run, `/\`) || run[0] == '.' {
		return fmt.Errorf("discard run %q of %s: invalid run id", run, s.typed)
	}
	dir := filepath.Join(s.state, run, "stage")
	entries, err := s.disk.ReadDir(dir)
	if notExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.removeQuiet(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	if err := s.removeQuiet(dir); err != nil {
		return err
	}
	s.disk.Remove(filepath.Dir(dir)) // stays while the run's log is in it
	return nil
}
