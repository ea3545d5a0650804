package commit_test

import (
	"sync"
	"testing"

	"github.com/sluice-data/sluice/connectors/file"
)

// syncDisk counts what is made durable.
type syncDisk struct {
	file.OSDisk
	mu   sync.Mutex
	what []string
}

func (d *syncDisk) note(what string) {
	d.mu.Lock()
	d.what = append(d.what, what)
	d.mu.Unlock()
}

func (d *syncDisk) SyncDir(path string) error {
	d.note("dir " + path)
	return nil
}

func (d *syncDisk) Create(path string) (file.DiskFile, error) {
	f, err := d.OSDisk.Create(path)
	return syncFile{f, d, path}, err
}

func (d *syncDisk) Append(path string) (file.DiskFile, error) {
	f, err := d.OSDisk.Append(path)
	return syncFile{f, d, path}, err
}

type syncFile struct {
	file.DiskFile
	d    *syncDisk
	path string
}

func (f syncFile) Sync() error {
	f.d.note("file " + f.path)
	return nil
}

// TestSyncs bounds what a run makes the disk wait for: a fixed number, and three for a part (its bytes, its name, its record).
func TestSyncs(t *testing.T) {
	count := func(parts int) int {
		d := &syncDisk{}
		w := world{Path: quickDir(t) + "/out/", Files: files(parts, 20), Keep: 10, PartBytes: 1, disk: d, Ordered: true}
		if parts == 1 {
			w.PartBytes = 1 << 20
		}
		mustRun(t, w)
		all, err := visible(w.Path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d parts: %d syncs", len(all), len(d.what))
		if len(all) == 1 {
			for _, s := range d.what {
				t.Log(s)
			}
		}
		return len(d.what) - 3*len(all)
	}
	if n := count(1); n > 20 {
		t.Errorf("%d syncs of a run besides those of its part, want at most 20", n)
	}
	if n := count(40); n > 20 {
		t.Errorf("%d syncs of a run besides three a part, want at most 20", n)
	}
}
