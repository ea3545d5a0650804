package sluice_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// plain are methods that need no example: doors to package dataset, and those that differ from another only in a name.
var plain = []string{"Dataset_Plain", "Output_Plain", "Dataset_To", "Session_From", "Dataset_WriteParquet", "Dataset_WriteWith", "Output_Explain",
	"Session_Close", "Session_Registry", "Session_Runner", "Session_Options", "Session_Explain", "Output_Analyze"}

// TestEveryMethodHasAnExample looks at the methods of the fluent API and at the functions that take a Dataset.
func TestEveryMethodHasAnExample(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var methods, examples []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case strings.HasSuffix(e.Name(), "_test.go"):
				if name, ok := strings.CutPrefix(fn.Name.Name, "Example"); ok {
					examples = append(examples, name)
				}
			case fn.Name.IsExported() && (receiver(fn) != "" || fn.Recv == nil && takesDataset(fn)):
				methods = append(methods, receiver(fn)+fn.Name.Name)
			}
		}
	}
	if len(methods) < 40 {
		t.Fatalf("only %d methods were found: the search is broken", len(methods))
	}
	for _, m := range methods {
		if !slices.Contains(examples, m) && !slices.Contains(plain, m) {
			t.Errorf("%s has no example: write Example%s", m, m)
		}
	}
}

// receiver is the type of a method and an underscore.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok && id.IsExported() {
		return id.Name + "_"
	}
	return ""
}

func takesDataset(fn *ast.FuncDecl) bool {
	for _, p := range fn.Type.Params.List {
		if id, ok := p.Type.(*ast.Ident); ok && id.Name == "Dataset" {
			return true
		}
	}
	return false
}
