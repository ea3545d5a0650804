package sluice_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sluice-data/sluice"

// mayImport says which rooms of the house a room may import, besides itself. Rooms that are not listed may import anything.
var mayImport = map[string][]string{
	"dataset": {}, "backpressure": {},
	"connectors": {"dataset"}, "gpu": {"dataset"},
	"operators": {"dataset", "gpu", "python"}, "python": {},
	"executor": {"dataset", "backpressure"},
	"cluster":  {"dataset", "backpressure", "executor"},
}

// leaves are imported by nothing.
var leaves = []string{"cmd", "examples", "benchmarks"}

// TestImportsRunOneWay parses every Go file, whatever its build tags, and checks the one-way rule. Test files may use more: the
// conformance suites and fakes of other rooms, and the assembled product.
func TestImportsRunOneWay(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); path != "." && (strings.HasPrefix(n, ".") || n == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if why := refused(filepath.ToSlash(path), imp); why != "" {
				t.Errorf("%s imports %s: %s", path, imp, why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Fatalf("only %d Go files were looked at: the walk is broken", files)
	}
}

// refused says why a file may not import a package, or "".
func refused(file, imp string) string {
	if imp == module {
		imp = module + "/"
	}
	rest, ours := strings.CutPrefix(imp, module+"/")
	if !ours {
		return ""
	}
	from, _, inRoom := strings.Cut(file, "/")
	if !inRoom {
		from = ""
	}
	to, _, _ := strings.Cut(rest, "/")
	switch {
	case from == to:
		return ""
	case slices.Contains(leaves, to):
		return "nothing imports " + to
	}
	if allowed, listed := mayImport[from]; listed && !slices.Contains(allowed, to) {
		return from + " may import only " + strings.Join(append([]string{from}, allowed...), ", ")
	}
	return ""
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		file, imp string
		ok        bool
	}{
		{"executor/run.go", module + "/dataset", true},
		{"executor/run.go", module + "/operators", false},
		{"executor/run.go", module + "/connectors/file", false},
		{"dataset/block/block.go", module + "/dataset/expr", true},
		{"dataset/node.go", module + "/backpressure", false},
		{"operators/sort.go", module + "/connectors/file", false},
		{"operators/sort.go", module, false},
		{"cmd/sluice/main.go", module, true},
		{"sluice.go", module + "/cmd/sluice", false},
		{"sluice.go", "github.com/apache/arrow-go/v18/arrow", true},
	} {
		if got := refused(tc.file, tc.imp) == ""; got != tc.ok {
			t.Errorf("%s importing %s: allowed %v, want %v", tc.file, tc.imp, got, tc.ok)
		}
	}
}
