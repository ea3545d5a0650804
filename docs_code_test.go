package sluice_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources parses all Go files of the repository that are no tests.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	out := map[string]*ast.File{}
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
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		out[path] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// constant is the value of a string literal; of a sum or a format, the part before what varies, and an ellipsis.
func constant(e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(x.Value)
		return s, err == nil && x.Kind == token.STRING
	case *ast.BinaryExpr:
		s, ok := constant(x.X)
		return s + "…", ok && x.Op == token.ADD
	case *ast.CallExpr:
		if sel, ok := x.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sprintf" && len(x.Args) > 0 {
			s, ok := constant(x.Args[0])
			head, _, _ := strings.Cut(s, "%")
			return head + "…", ok
		}
	}
	return "", false
}

// classes are the classes of failed rows that the program has: what Class methods return, and what is put into errors that have one.
func classes(files map[string]*ast.File) map[string]string {
	out := map[string]string{"internal error": "dataset/errors.go"}
	classed := []string{"sampleError", "recordError", "fileError"} // the class is the first of their fields
	for path, f := range files {
		if strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "benchmarks/") {
			continue
		}
		add := func(e ast.Expr) {
			if s, ok := constant(e); ok {
				out[s] = path
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.KeyValueExpr:
				if k, ok := x.Key.(*ast.Ident); ok && k.Name == "class" {
					add(x.Value)
				}
			case *ast.AssignStmt:
				if sel, ok := x.Lhs[0].(*ast.SelectorExpr); ok && sel.Sel.Name == "class" {
					add(x.Rhs[0])
				}
			case *ast.CompositeLit:
				if id, ok := x.Type.(*ast.Ident); ok && slices.Contains(classed, id.Name) && len(x.Elts) > 0 {
					add(x.Elts[0])
				}
			case *ast.FuncDecl:
				if x.Name.Name == "Class" && x.Recv != nil || x.Name.Name == "classOf" {
					classesOf(x, add)
				}
			}
			return true
		})
	}
	return out
}

// classesOf finds what a function returns, and the names of a table in it.
func classesOf(fn *ast.FuncDecl, add func(ast.Expr)) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ReturnStmt:
			add(x.Results[0])
		case *ast.CompositeLit:
			if x.Type == nil && len(x.Elts) == 2 {
				add(x.Elts[1])
			}
		}
		return true
	})
}

// warningClasses are the classes of warnings.
func warningClasses(files map[string]*ast.File) map[string]string {
	out := map[string]string{}
	for path, f := range files {
		if strings.HasPrefix(path, "cmd/") {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			name := ""
			switch fn := call.Fun.(type) {
			case *ast.Ident:
				name = fn.Name
			case *ast.SelectorExpr:
				name = fn.Sel.Name
			}
			if s, ok := constant(call.Args[0]); ok && strings.EqualFold(name, "warn") {
				out[s] = path
			}
			return true
		})
	}
	return out
}

// TestErrorCatalogue holds the catalogue against the classes that the program has, in both directions.
func TestErrorCatalogue(t *testing.T) {
	files := sources(t)
	page, err := os.ReadFile("docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, catalogue, found := strings.Cut(string(page), "\n## Catalogue\n")
	catalogue, _, _ = strings.Cut(catalogue, "\n## ")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(catalogue, -1) {
		listed[m[1]] = true
	}
	all, warns := classes(files), warningClasses(files)
	if !found || len(all) < 25 || len(warns) < 8 {
		t.Fatalf("only %d classes and %d warnings were found: the search is broken", len(all), len(warns))
	}
	for class, path := range all {
		if !listed[class] {
			t.Errorf("docs/errors.md does not list the class %q of %s", class, path)
		}
	}
	for class, path := range warns {
		if !listed[class] {
			t.Errorf("docs/errors.md does not list the warning %q of %s", class, path)
		}
	}
	literals := literalsOf(files)
	for class := range listed {
		if all[class] == "" && warns[class] == "" && !literals[class] {
			t.Errorf("docs/errors.md lists %q, which the program does not have", class)
		}
	}
}

// literalsOf are all strings that the program has.
func literalsOf(files map[string]*ast.File) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					out[s] = true
				}
			}
			return true
		})
	}
	return out
}

// TestEnvironmentOfDocs checks that every variable that the program reads is described, and that no other of ours is.
func TestEnvironmentOfDocs(t *testing.T) {
	page, err := os.ReadFile("docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile(`^SLUICE_[A-Z0-9_]+$`)
	read := map[string]bool{}
	for path, f := range sources(t) {
		if strings.HasPrefix(path, "connectors/connectortest/") || strings.HasPrefix(path, "benchmarks/") {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.BasicLit:
				if s, err := strconv.Unquote(x.Value); err == nil && ours.MatchString(s) {
					read[s] = true
				}
			case *ast.CallExpr:
				if sel, ok := x.Fun.(*ast.SelectorExpr); ok && (sel.Sel.Name == "Getenv" || sel.Sel.Name == "LookupEnv") && len(x.Args) == 1 {
					if s, ok := constant(x.Args[0]); ok {
						read[s] = true
					}
				}
			}
			return true
		})
	}
	if len(read) < 20 {
		t.Fatalf("only %d variables were found: the search is broken", len(read))
	}
	for name := range read {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/environment.md does not describe %s", name)
		}
	}
	body, _, _ := strings.Cut(string(page), "\n## Tests\n")
	for _, m := range regexp.MustCompile("`(SLUICE_[A-Z0-9_]+)`").FindAllStringSubmatch(body, -1) {
		if !read[m[1]] {
			t.Errorf("docs/environment.md describes %s, which nothing reads", m[1])
		}
	}
}

// TestPagesAreReached checks that every page of docs can be reached from its front page, and every decision from the list of them.
func TestPagesAreReached(t *testing.T) {
	for _, dir := range []string{"docs", "docs/decisions"} {
		front, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		all, err := filepath.Glob(filepath.Join(dir, "*.md"))
		if err != nil || len(all) < 5 {
			t.Fatalf("%d pages in %s, %v", len(all), dir, err)
		}
		for _, page := range all {
			if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(front), "("+name) {
				t.Errorf("%s/README.md does not lead to %s", dir, name)
			}
		}
	}
}

// prelude is what pieces of Go in pages take for granted.
const prelude = `package snippet

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/dataset"
)

type Event struct{ ID int64; Text *string; Lang string }

func train(...any) {}

func snippet%d(ctx context.Context, s *sluice.Session, ds, photos sluice.Dataset, report *dataset.Report) (err error) {
	{
%s
	}
	return nil
}
`

// TestGoOfDocs compiles the Go of all pages. Pieces with an ellipsis are forms and are left out; so are those that declare a package's own things
// in words of their own (they are parts of examples, which are compiled).
func TestGoOfDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a package for each piece")
	}
	piece := regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	dir, overlay, n := t.TempDir(), []string{}, 0
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range piece.FindAllStringSubmatch(string(text), -1) {
			code := m[1]
			if strings.Contains(code, "…") || strings.HasPrefix(page, "docs/add-") || strings.HasPrefix(code, "import ") {
				continue
			}
			n++
			if !strings.HasPrefix(code, "package ") {
				code = fmt.Sprintf(prelude, n, code)
			} else {
				code = strings.Replace(code, "package main", "package snippet", 1)
				code = strings.Replace(code, "func main()", fmt.Sprintf("func main%d()", n), 1)
			}
			name := filepath.Join(dir, fmt.Sprintf("%d.go", n))
			if err := os.WriteFile(name, []byte("// of "+page+"\n"+code), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay = append(overlay, fmt.Sprintf("%q:%q", filepath.Join(root, "docs", fmt.Sprintf("snippet%d", n), "code.go"), name))
		}
	}
	if n < 9 {
		t.Fatalf("only %d pieces were found: the search is broken", n)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, []byte(`{"Replace":{`+strings.Join(overlay, ",")+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-gcflags=-e", "-overlay", list}
	for i := range n {
		args = append(args, fmt.Sprintf("./docs/snippet%d", i+1))
	}
	out, err := exec.Command("go", args...).CombinedOutput() //nolint:gosec // our own pages
	problems := 0
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "#") || strings.Contains(line, "declared and not used") || strings.Contains(line, "imported and not used") || strings.Contains(line, "is not used") {
			continue
		}
		problems++
		t.Errorf("%s", line)
	}
	if problems > 0 {
		for i := range n {
			code, _ := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.go", i+1)))
			page, _, _ := strings.Cut(string(code), "\n")
			t.Logf("snippet%d is %s", i+1, page)
		}
	}
	if err != nil && len(out) == 0 {
		t.Error(err)
	}
}
