package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// TestMark: what a file held is recognised after it grew, and not after it changed at its head or its end.
func TestMark(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, was, now string
		same, ended    bool
	}{
		{"nothing, then lines", "", "a\n", true, true},
		{"a line more", "a\n", "a\nb\n", true, true},
		{"the end of the line came later", "a", "a\nb\n", true, true},
		{"the last line went on", "a", "ab\n", true, false},
		{"another head", "a\n", "b\nb\n", false, true},
		{"big", strings.Repeat("x\n", 100_000), strings.Repeat("x\n", 100_001), true, true},
		{"big, another tail", strings.Repeat("x\n", 100_000), strings.Repeat("x\n", 99_999) + "y\nz\n", false, true},
		{"as it was", "a\nb", "a\nb", true, true},
	} {
		p := filepath.Join(dir, "in.txt")
		set := file.NewSet(file.Local{}, []dataset.Pattern{{Text: p}})
		mark := func(text string, n int) (uint64, bool) {
			t.Helper()
			if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			info, err := set.FS().Stat(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			mark, ended, ok, err := set.Mark(t.Context(), info.FileRef, int64(n))
			if err != nil || !ok || mark == 0 {
				t.Fatal(mark, ok, err)
			}
			return mark, ended
		}
		was, _ := mark(c.was, len(c.was))
		now, ended := mark(c.now, len(c.was))
		if (was == now) != c.same || ended != c.ended {
			t.Errorf("%s: same %t, ended %t; want %t, %t", c.name, was == now, ended, c.same, c.ended)
		}
	}
	for _, ref := range []dataset.FileRef{{Path: "x.gz", Size: 9}, {Path: "-", Size: 9}, {Path: "x", Size: 3}} {
		if _, _, ok, err := file.NewSet(file.Local{}, nil).Mark(t.Context(), ref, 5); ok || err != nil {
			t.Errorf("%s: %t, %v", ref.Path, ok, err)
		}
	}
}
