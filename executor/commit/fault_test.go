package commit_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// fault is a way for a disk to fail.
type fault struct {
	name string
	on   string // operations it strikes: some of "write", "sync", "rename", "name" (making and removing names)
	err  error
	keep bool // it stays, as a full disk does
}

var faults = []fault{
	{"ENOSPC", "write name", syscall.ENOSPC, false},
	{"full disk", "write name", syscall.ENOSPC, true},
	{"EIO", "write sync rename name", syscall.EIO, false},
	{"broken disk", "write sync rename name", syscall.EIO, true},
	{"short write", "write", nil, false},
	{"lost rename", "rename", nil, false},
	{"failed fsync", "sync", syscall.EIO, false},
}

// faultDisk fails its nth operation of the struck kinds. It syncs nothing: tests are about order, not about power.
type faultDisk struct {
	file.OSDisk
	f     fault
	nth   int64
	count atomic.Int64
}

// strikes counts an operation and tells whether it fails.
func (d *faultDisk) strikes(kind string) bool {
	if !strings.Contains(d.f.on, kind) {
		return false
	}
	n := d.count.Add(1)
	return n == d.nth || d.f.keep && n > d.nth
}

func (d *faultDisk) fail(kind, path string) error {
	if d.strikes(kind) && d.f.err != nil {
		return &fs.PathError{Op: kind, Path: path, Err: d.f.err}
	}
	return nil
}

func (d *faultDisk) Mkdir(path string) error {
	if err := d.fail("name", path); err != nil {
		return err
	}
	return d.OSDisk.Mkdir(path)
}

func (d *faultDisk) Create(path string) (file.DiskFile, error) {
	if err := d.fail("name", path); err != nil {
		return nil, err
	}
	f, err := d.OSDisk.Create(path)
	return faultFile{f, d, path}, err
}

func (d *faultDisk) Append(path string) (file.DiskFile, error) {
	if err := d.fail("name", path); err != nil {
		return nil, err
	}
	f, err := d.OSDisk.Append(path)
	return faultFile{f, d, path}, err
}

func (d *faultDisk) Rename(from, to string) error {
	if d.strikes("rename") {
		if d.f.err == nil {
			return nil
		}
		return &fs.PathError{Op: "rename", Path: from, Err: d.f.err}
	}
	return d.OSDisk.Rename(from, to)
}

func (d *faultDisk) Link(from, to string) error {
	if err := d.fail("rename", from); err != nil {
		return err
	}
	return d.OSDisk.Link(from, to)
}

func (d *faultDisk) Remove(path string) error {
	if d.f.err == syscall.EIO {
		if err := d.fail("name", path); err != nil {
			return err
		}
	}
	return d.OSDisk.Remove(path)
}

func (d *faultDisk) SyncDir(path string) error { return d.fail("sync", path) }

type faultFile struct {
	file.DiskFile
	d    *faultDisk
	path string
}

func (f faultFile) Write(p []byte) (int, error) {
	if f.d.strikes("write") {
		n, err := f.DiskFile.Write(p[:len(p)/2])
		if f.d.f.err != nil {
			err = &fs.PathError{Op: "write", Path: f.path, Err: f.d.f.err}
		}
		return n, err
	}
	return f.DiskFile.Write(p)
}

func (f faultFile) Sync() error { return f.d.fail("sync", f.path) }

// TestStorageFaults fails every single operation of a run, in every way. Whatever happens, no half-written file is visible, a
// reported success is one, and the next run gives exact rows.
func TestStorageFaults(t *testing.T) {
	for _, f := range faults {
		for _, kind := range []string{"folder", "one file", "partitioned", "append", "append one", "overwrite", "overwrite one"} {
			t.Run(f.name+"/"+kind, func(t *testing.T) {
				struck, last, stride := 0, false, int64(1)
				if kind != "folder" && kind != "append one" && kind != "overwrite" {
					stride = 4 // these differ little from the others
				}
				for nth := int64(1); !last; nth += stride {
					w, want := faultWorld(t, kind)
					d := &faultDisk{f: f, nth: nth}
					w.disk = d
					_, _, err := w.run(t.Context())
					last = d.count.Load() < nth
					if err != nil {
						struck++
						clearError(t, f, err)
					} else {
						sameRows(t, allRows(t, w.Path), want)
					}
					if last && err != nil {
						t.Fatalf("the run without a fault: %v", err)
					}
					if _, verr := visible(w.Path); verr != nil {
						t.Fatalf("operation %d (%v): %v", nth, err, verr)
					}
					w.disk = &faultDisk{}
					if _, _, rerr := w.run(t.Context()); rerr != nil {
						t.Fatalf("operation %d (%v): the next run: %v", nth, err, rerr)
					}
					sameRows(t, allRows(t, w.Path), want)
					noStaged(t, w.Path)
				}
				if struck == 0 && f.name != "lost rename" {
					t.Error("the fault struck nothing")
				}
			})
		}
	}
}

// clearError checks that a full disk is reported as one.
func clearError(t *testing.T, f fault, err error) {
	t.Helper()
	if f.err == syscall.ENOSPC && !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %q does not say that the disk is full", err)
	}
	if f.err == syscall.EIO && !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("error %q does not say that the disk fails", err)
	}
}

// quickDir makes a folder in memory where the system has one: these tests make many files and need no real disk.
func quickDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "commit-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func faultWorld(t *testing.T, kind string) (w world, want []string) {
	t.Helper()
	dir := quickDir(t)
	w = world{Path: filepath.Join(dir, "out/"), Files: files(2, 30), Keep: 7, PartBytes: 500, Plan: "first", disk: &faultDisk{}}
	w.Path += "/"
	if strings.HasSuffix(kind, "one") || kind == "one file" {
		w.Path, w.PartBytes = filepath.Join(dir, "out.txt"), 1<<20
	}
	w.By = kind == "partitioned"
	before := w.expected()
	if strings.HasPrefix(kind, "append") || strings.HasPrefix(kind, "overwrite") {
		mustRun(t, w)
		w.Plan, w.Files = "second", files(3, 20)
	}
	switch {
	case strings.HasPrefix(kind, "append"):
		w.Target = dataset.TargetAppend
		want = append(before, w.expected()...)
	case strings.HasPrefix(kind, "overwrite"):
		w.Target = dataset.TargetOverwrite
		want = w.expected()
	default:
		want = w.expected()
	}
	sort.Strings(want)
	return w, want
}

// TestFullDiskMessage: the message names the file, the room that is left and what to do.
func TestFullDiskMessage(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(1, 30), Keep: 7}
	for nth := int64(1); ; nth++ {
		w.disk = &faultDisk{f: faults[1], nth: nth}
		_, _, err := w.run(t.Context())
		if err == nil {
			t.Fatal("no write of a part failed")
		}
		if !strings.Contains(err.Error(), ".part") {
			continue
		}
		for _, word := range []string{"part-0000000000", "the disk is full", "free)", "run the same command again"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("error %q lacks %q", err, word)
			}
		}
		return
	}
}

func (f fault) String() string { return fmt.Sprint(f.name) }
