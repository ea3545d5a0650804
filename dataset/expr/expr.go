package expr

import (
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
)

// Expr is a parsed expression: immutable, independent of any schema, safe to share.
type Expr struct {
	root *node
}

// SyntaxError reports source text that is not an expression of the language. Offset is in bytes.
type SyntaxError struct {
	Offset int
	Msg    string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("parse expression: at byte %d: %s", e.Offset, e.Msg)
}

// TypeError reports an expression that does not fit the schema. Offset is the byte in the source where the
// offending part starts; Column names the column it is about, if any.
type TypeError struct {
	Offset int
	Column string
	Msg    string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("check expression: at byte %d: %s", e.Offset, e.Msg)
}

// RowError is the failure of one row: Row counts from 0 within the evaluated batch.
type RowError struct {
	Row int
	Err error
}

// Columns returns the root columns that e reads, sorted and without repetition.
func (e *Expr) Columns() []string {
	seen := map[string]struct{}{}
	e.root.walk(func(n *node) {
		if n.kind == nodeColumn {
			seen[n.name] = struct{}{}
		}
	})
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// Column reports whether e is a bare column, and which.
func (e *Expr) Column() (string, bool) {
	return e.root.name, e.root.kind == nodeColumn
}

// Conjuncts splits the top-level `and`: all of them true means e is true. An e without one is its own conjunct.
func (e *Expr) Conjuncts() []*Expr {
	if !e.root.is("and") {
		return []*Expr{e}
	}
	out := make([]*Expr, len(e.root.args))
	for i, a := range e.root.args {
		out[i] = &Expr{root: a}
	}
	return out
}

// And joins expressions with `and`, flattening nested ones. And of nothing is the literal true.
func And(es ...*Expr) *Expr {
	args := make([]*node, len(es))
	for i, e := range es {
		args[i] = e.root
	}
	switch len(args) {
	case 0:
		return &Expr{root: literal(true, 0)}
	case 1:
		return es[0]
	}
	return &Expr{root: logical("and", args, args[0].off)}
}

// Rename returns e with every column that names holds replaced by its new name; e itself is unchanged.
// All replacements happen at once, so swapping two names works.
func (e *Expr) Rename(names map[string]string) *Expr {
	return &Expr{root: e.root.rename(names)}
}

// Equal reports whether both have the same canonical tree.
func (e *Expr) Equal(o *Expr) bool { return e.String() == o.String() }

// Type checks e against schema and returns the type of its result without building a program.
func (e *Expr) Type(schema *arrow.Schema) (arrow.DataType, error) {
	t, err := check(e, schema)
	if err != nil {
		return nil, err
	}
	return t.typ, nil
}
