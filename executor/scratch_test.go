package executor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

// TestSpillIsSwept: whoever spills sweeps what killed runs left in the folder, and nothing else; his own files have no name there.
func TestSpillIsSwept(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{dataset.SpillPrefix + "1", dataset.SpillPrefix + "2", "other"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, dataset.SpillPrefix+"folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := newScratch(Config{TempDir: dir})
	defer s.close()
	f, err := s.file()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("spilled")); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if err != nil || len(left) != 2 || left[0] != dataset.SpillPrefix+"folder" || left[1] != "other" {
		t.Errorf("left are %q, %v", left, err)
	}
	if n, err := SweepSpill(dir); n != 0 || err != nil {
		t.Errorf("swept %d more, %v", n, err)
	}
	buf := make([]byte, 7)
	if _, err := f.ReadAt(buf, 0); err != nil || string(buf) != "spilled" {
		t.Errorf("read back %q, %v", buf, err)
	}
	if _, err := SweepSpill(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was swept")
	}
}
