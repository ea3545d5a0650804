package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/connectors/text"
	"github.com/sluice-data/sluice/dataset"
)

// textSources are the sources of lines, with n rows of each.
var textSources = []struct {
	ext  string
	head string
	form string
	open func(set *file.Set) (dataset.Source, error)
}{
	{"csv", "id,name\n", "%d,name %d\n", func(set *file.Set) (dataset.Source, error) {
		return csv.NewSource(set, csv.Options{})
	}},
	{"jsonl", "", `{"id": %d, "name": "name %d"}` + "\n", func(set *file.Set) (dataset.Source, error) {
		return jsonl.NewSource(set, jsonl.Options{})
	}},
	{"txt", "", "%d name %d\n", func(set *file.Set) (dataset.Source, error) {
		return text.NewSource(set, text.Options{})
	}},
}

func rows(head, form string, n int) []byte {
	b := bytes.NewBufferString(head)
	for i := range n {
		fmt.Fprintf(b, form, i, i)
	}
	return b.Bytes()
}

// folder makes a folder of files and a set of them.
func folder(t *testing.T, files map[string][]byte) *file.Set {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return file.NewSet(file.Local{}, []dataset.Pattern{{Text: dir + "/*"}})
}

// TestDamagedRows keeps the whole rows before a fault, counts the rest of the file as one failed row, and goes on with the next file; a policy
// that ends the run gets the error.
func TestDamagedRows(t *testing.T) {
	const n = 5000
	for _, s := range textSources {
		for _, c := range compressions {
			t.Run(s.ext+"/"+c.name, func(t *testing.T) {
				whole, more := packed(t, c.name, rows(s.head, s.form, n)), packed(t, c.name, rows("", s.form, n))
				two := append(bytes.Clone(whole), more[:len(more)/2]...)
				set := folder(t, map[string][]byte{"a." + s.ext + c.suffix: two, "b." + s.ext + c.suffix: whole})
				src, err := s.open(set)
				if err != nil {
					t.Fatal(err)
				}
				rt := connectortest.NewRuntime(t)
				got := connectortest.ReadAll(t, src, rt)
				perFile := map[string]int{}
				for _, r := range got {
					perFile[filepath.Base(r.Path)[:1]]++
				}
				if perFile["a"] < n || perFile["a"] >= 2*n || perFile["b"] != n {
					t.Errorf("rows by file: %v", perFile)
				}
				bad := rt.Failures()
				if len(bad) != 1 {
					t.Fatalf("failed rows: %v", bad)
				}
				d, ok := errors.AsType[*file.DamagedError](bad[0].Err)
				if !ok || !d.Short || d.Class() != "compressed file ends early" {
					t.Errorf("failed row: %v", bad[0])
				}
				rt.Policy = func(err error) error { return err }
				for _, split := range connectortest.Splits(t, src, dataset.Cursor{}) {
					if _, err := connectortest.ReadSplit(t.Context(), src, rt, split, bad[0].Position); !errors.As(err, &d) {
						t.Errorf("with a policy that ends the run: %v", err)
					}
					break
				}
			})
		}
	}
}

// TestHiddenCompression reads compressed files whose names do not say so, past the size that the file has, and refuses those that were cut.
func TestHiddenCompression(t *testing.T) {
	for _, s := range textSources {
		t.Run(s.ext, func(t *testing.T) {
			src, err := s.open(folder(t, map[string][]byte{"a." + s.ext: packed(t, "gzip", rows(s.head, s.form, 2000)), "b." + s.ext: rows(s.head, s.form, 10)}))
			if err != nil {
				t.Fatal(err)
			}
			rt := connectortest.NewRuntime(t)
			if got := connectortest.ReadAll(t, src, rt); len(got) != 2010 || len(rt.Failures()) != 0 {
				t.Errorf("%d rows and %v, want 2010", len(got), rt.Failures())
			}
			splits := connectortest.Splits(t, src, dataset.Cursor{})
			half := splits[0]
			half.Ranges = half.Ranges[:1]
			half.Ranges[0].End = uint64(half.Ranges[0].File.Size / 2)
			_, err = connectortest.ReadSplit(t.Context(), src, rt, half, 0)
			if err == nil || !strings.Contains(err.Error(), "rename it to") || !strings.Contains(err.Error(), "a."+s.ext+".gz") {
				t.Errorf("of a file that was cut: %v", err)
			}
		})
	}
}
