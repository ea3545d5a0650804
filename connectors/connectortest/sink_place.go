package connectortest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Place is where a result is that is not on this machine's disk, as it shows to somebody who does not use Sluice.
type Place struct {
	Path  string // of a copy of the result on the disk, which Fetch makes: a folder or a file
	Fetch func(t *testing.T)
	// Write and Remove change a file of a result that is a folder.
	Write  func(t *testing.T, name string, data []byte)
	Remove func(t *testing.T, name string)
}

// onDisk is a result on the disk.
func onDisk(path string) Place {
	return Place{path, func(*testing.T) {},
		func(t *testing.T, name string, data []byte) {
			if err := os.WriteFile(filepath.Join(path, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		},
		func(t *testing.T, name string) {
			if err := os.Remove(filepath.Join(path, name)); err != nil {
				t.Fatal(err)
			}
		}}
}

// dataFiles returns the data files of a result.
func dataFiles(t *testing.T, at Place) []string {
	t.Helper()
	at.Fetch(t)
	return dataFilesIn(t, at.Path)
}

// dataFilesIn returns the data files below a path of the disk.
func dataFilesIn(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(strings.TrimSuffix(path, "/"), func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.Name()[0] == '_' || d.Name()[0] == '.':
			if d.IsDir() {
				return filepath.SkipDir
			}
		case !d.IsDir():
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// want checks the rows of the file of that name of a result; "" is a result that is one file.
func (c SinkConfig) want(t *testing.T, at Place, name string, first, n int) {
	t.Helper()
	at.Fetch(t)
	c.wantIn(t, filepath.Join(at.Path, name), first, n)
}

// wantIn checks the rows of a file on the disk.
func (c SinkConfig) wantIn(t *testing.T, path string, first, n int) {
	t.Helper()
	got, err := c.Read(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(got) != n {
		t.Fatalf("%s: %d rows, want %d", path, len(got), n)
	}
	for i, g := range got {
		if w := c.Text(first + i); g != w {
			t.Fatalf("%s: row %d is %q, want %q", path, i, g, w)
		}
	}
}
