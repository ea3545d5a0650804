package file_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

func TestStorageObjects(t *testing.T) {
	ctx := t.Context()
	root := filepath.Join(t.TempDir(), "a", "b")
	s := file.NewStorage(file.OSDisk{}, root)
	if _, err := os.Stat(root); err == nil {
		t.Error("a storage that was not written to has a folder")
	}
	if names, err := s.List(ctx, ""); err != nil || len(names) > 0 {
		t.Errorf("list of nothing: %q, %v", names, err)
	}
	if _, err := s.Read(ctx, "x/y"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read of nothing: %v", err)
	}
	if err := s.Create(ctx, "x/y", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(ctx, "x/y", []byte("2")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second create: %v", err)
	}
	if err := s.Replace(ctx, "x/y", []byte("3")); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Read(ctx, "x/y"); err != nil || string(p) != "3" {
		t.Errorf("read %q, %v", p, err)
	}
	if err := s.Replace(ctx, "x-1", nil); err != nil {
		t.Fatal(err)
	}
	if names, err := s.List(ctx, ""); err != nil || !slices.Equal(names, []string{"x-1", "x/y"}) {
		t.Errorf("list: %q, %v", names, err)
	}
	for range 2 {
		if err := s.Remove(ctx, "x/y"); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "x")); err == nil {
		t.Error("the empty folder is left")
	}
	for _, bad := range []string{"", ".", "../x", "/x", "a//b"} {
		if err := s.Create(ctx, bad, nil); err == nil {
			t.Errorf("name %q is taken", bad)
		}
	}
}

// TestCreateOnce: of many that create one object at the same time exactly one succeeds, and it is whole.
func TestCreateOnce(t *testing.T) {
	s := file.NewStorage(file.OSDisk{}, t.TempDir())
	var won atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			switch err := s.Create(t.Context(), "m/1", []byte("manifest")); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if p, err := s.Read(t.Context(), "m/1"); won.Load() != 1 || err != nil || string(p) != "manifest" {
		t.Errorf("%d winners, %q, %v", won.Load(), p, err)
	}
}

func TestStorageLock(t *testing.T) {
	ctx := t.Context()
	root := filepath.Join(t.TempDir(), "made", "state")
	first, second := file.NewStorage(file.OSDisk{}, root), file.NewStorage(file.OSDisk{}, root)
	release, err := first.Lock(ctx, "lock", []byte("process 7 on here"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = second.Lock(ctx, "lock", []byte("other"))
	if held, ok := errors.AsType[*dataset.LockedError](err); !ok || held.Owner != "process 7 on here" {
		t.Errorf("second lock: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(root)); err == nil {
		t.Error("folders made for the lock alone are left")
	}
	if release, err = second.Lock(ctx, "lock", []byte("other")); err != nil {
		t.Fatal(err)
	}
	// what a killed process was writing goes when the lock is taken
	if err := second.Create(ctx, "kept/x", nil); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(root, "kept", ".tmp-left")
	if err := os.WriteFile(left, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = first.Lock(ctx, "lock", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("a half-written file of a dead process is left")
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Read(ctx, "kept/x"); err != nil {
		t.Error(err)
	}
}

// TestLockRace: holders that come and go, each removing the lock file, never hold it together.
func TestLockRace(t *testing.T) {
	root := filepath.Join(t.TempDir(), "s")
	var inside, rounds atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s := file.NewStorage(file.OSDisk{}, root)
			for range 200 {
				release, err := s.Lock(t.Context(), "lock", nil)
				if _, ok := errors.AsType[*dataset.LockedError](err); ok {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				rounds.Add(1)
				inside.Add(-1)
				if err := release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if rounds.Load() == 0 {
		t.Error("nobody got the lock")
	}
}

func TestStorageLog(t *testing.T) {
	ctx := t.Context()
	s := file.NewStorage(file.OSDisk{}, t.TempDir())
	for range 2 {
		l, err := s.Append(ctx, "r/log/1")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Append([]byte("ab")), l.Append([]byte("c")), l.Sync(), l.Close(), l.Close()); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(nil); err == nil {
			t.Error("a closed log takes more")
		}
	}
	if p, err := s.Read(ctx, "r/log/1"); err != nil || string(p) != "abcabc" {
		t.Errorf("log %q, %v", p, err)
	}
}
