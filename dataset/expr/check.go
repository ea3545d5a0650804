package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// checker turns a tree into a typed tree against one schema. cols lists the columns read, each once.
type checker struct {
	schema *arrow.Schema
	cols   []int
}

func check(e *Expr, schema *arrow.Schema) (*tnode, error) {
	t, _, err := checkColumns(e, schema)
	return t, err
}

func checkColumns(e *Expr, schema *arrow.Schema) (*tnode, []int, error) {
	c := &checker{schema: schema}
	t, err := c.check(e.root)
	return t, c.cols, err
}

func typeErr(n *node, format string, args ...any) error {
	err := &TypeError{Offset: n.off, Msg: fmt.Sprintf(format, args...)}
	if n.kind == nodeColumn {
		err.Column = n.name
	}
	return err
}

func (c *checker) check(n *node) (*tnode, error) {
	switch n.kind {
	case nodeLiteral:
		return checkLiteral(n), nil
	case nodeColumn:
		return c.column(n)
	case nodeField:
		return c.field(n)
	}
	f := lookup(n.name)
	if f == nil {
		return nil, typeErr(n, "%s", unknownFunction(n.name))
	}
	if f.form != nil { // forms look at their arguments' syntax first
		return f.form(c, n)
	}
	args, err := c.checkAll(n.args)
	if err != nil {
		return nil, err
	}
	return f.check(c, n, args)
}

func (c *checker) checkAll(ns []*node) ([]*tnode, error) {
	out := make([]*tnode, len(ns))
	for i, a := range ns {
		t, err := c.check(a)
		if err != nil {
			return nil, err
		}
		out[i] = t
	}
	return out, nil
}

func checkLiteral(n *node) *tnode {
	typ := typeNull
	switch n.lit.(type) {
	case bool:
		return typedLiteral(n.lit, typeBool, n.off)
	case int64:
		return typedLiteral(n.lit, typeInt, n.off)
	case uint64:
		return typedLiteral(n.lit, typeUint, n.off)
	case float64:
		return typedLiteral(n.lit, typeFloat, n.off)
	case string:
		return typedLiteral(n.lit, typeString, n.off)
	case []byte:
		return typedLiteral(n.lit, typeBinary, n.off)
	}
	return typedLiteral(nil, typ, n.off)
}

func (c *checker) column(n *node) (*tnode, error) {
	found := c.schema.FieldIndices(n.name)
	switch {
	case len(found) == 0:
		return nil, typeErr(n, "unknown column %q%s", n.name, c.suggest(n.name))
	case len(found) > 1:
		return nil, typeErr(n, "column %q is there %d times; rename one of them first", n.name, len(found))
	}
	at := slices.Index(c.cols, found[0])
	if at < 0 {
		at = len(c.cols)
		c.cols = append(c.cols, found[0])
	}
	typ := logicalType(c.schema.Field(found[0]).Type)
	return &tnode{form: formColumn, off: n.off, typ: typ, kind: kindOf(typ), col: at, name: n.name}, nil
}

// suggest ends the message about an unknown column.
func (c *checker) suggest(name string) string {
	switch strings.ToLower(name) {
	case "null", "none":
		return "; the missing value is written nil"
	case "true", "false":
		return "; write " + strings.ToLower(name)
	case "nan", "inf", "infinity":
		return fmt.Sprintf("; write float(%q)", name)
	}
	names := make([]string, c.schema.NumFields())
	for i := range names {
		names[i] = c.schema.Field(i).Name
	}
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(names) == 0 {
		return "; there are no columns"
	}
	const show = 12
	list := strings.Join(names[:min(show, len(names))], ", ")
	if len(names) > show {
		list += fmt.Sprintf(" and %d more", len(names)-show)
	}
	return "; the columns are " + list
}

func (c *checker) field(n *node) (*tnode, error) {
	arg, err := c.check(n.args[0])
	if err != nil {
		return nil, err
	}
	if arg.kind == kindNull {
		return &tnode{form: formNull, off: n.off, typ: typeNull, kind: kindNull, args: []*tnode{arg}, masked: arg.masked}, nil
	}
	st, ok := arg.typ.(*arrow.StructType)
	if !ok {
		hint := ""
		if n.args[0].kind == nodeColumn {
			hint = fmt.Sprintf("; a column with a dot in its name is written col(%q)", n.args[0].name+"."+n.name)
		}
		return nil, typeErr(n, "%s is %s, not a struct: it has no field %q%s", (&Expr{n.args[0]}).String(), typeName(arg.typ), n.name, hint)
	}
	i, ok := st.FieldIdx(n.name)
	if !ok {
		names := make([]string, st.NumFields())
		for j := range names {
			names[j] = st.Field(j).Name
		}
		hint := "; the fields are " + strings.Join(names, ", ")
		if near := nearest(n.name, names); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, typeErr(n, "%s has no field %q%s", (&Expr{n.args[0]}).String(), n.name, hint)
	}
	typ := logicalType(st.Field(i).Type)
	return &tnode{form: formField, off: n.off, typ: typ, kind: kindOf(typ), args: []*tnode{arg}, col: i, name: n.name, masked: arg.masked}, nil
}

// want fails unless the i-th argument of n is of one of the kinds; null fits everywhere.
func want(n *node, args []*tnode, i int, kinds ...kind) error {
	if args[i].kind == kindNull || slices.Contains(kinds, args[i].kind) {
		return nil
	}
	names := make([]string, len(kinds))
	for j, k := range kinds {
		names[j] = k.String()
	}
	return typeErr(n.args[i], "%s wants %s, but %s is %s%s", n.name, strings.Join(names, " or "), (&Expr{n.args[i]}).String(), typeName(args[i].typ), castHint(args[i], kinds))
}

func castHint(arg *tnode, kinds []kind) string {
	switch {
	case slices.Contains(kinds, kindString) && (arg.kind.numeric() || arg.kind == kindBinary):
		return "; convert it with string(…)"
	case arg.kind == kindString && slices.Contains(kinds, kindFloat):
		return "; convert it with int(…) or float(…)"
	case arg.kind == kindString && slices.Contains(kinds, kindTimestamp):
		return "; convert it with timestamp(…) or date(…)"
	case slices.Equal(kinds, []kind{kindBool}):
		return "; compare it with something"
	}
	return ""
}

// constString returns the string that argument i must be, because it is prepared once.
func constString(n *node, i int) (string, error) {
	if n.args[i].kind == nodeLiteral {
		if s, ok := n.args[i].lit.(string); ok {
			return s, nil
		}
	}
	return "", typeErr(n.args[i], "argument %d of %s must be a string literal, not %s", i+1, n.name, (&Expr{n.args[i]}).String())
}

// coerce makes t yield typ, one of the types that commonType returns.
func coerce(t *tnode, typ arrow.DataType) *tnode {
	if arrow.TypeEqual(t.typ, typ) {
		return t
	}
	if t.isLiteral() {
		if v, err := convertConst(t.lit, t.typ, typ); err == nil {
			return typedLiteral(v, typ, t.off)
		}
	}
	if t.kind == kindNull {
		return &tnode{form: formNull, off: t.off, typ: typ, kind: kindOf(typ), args: []*tnode{t}, masked: t.masked}
	}
	return castNode(t, typ, false)
}

// commonType returns the type that both sides of ?:, ?? or min convert to.
func commonType(n *node, a, b *tnode) (arrow.DataType, error) {
	switch {
	case arrow.TypeEqual(a.typ, b.typ):
		return a.typ, nil
	case a.kind == kindNull:
		return b.typ, nil
	case b.kind == kindNull:
		return a.typ, nil
	case a.kind.numeric() && b.kind.numeric():
		return arithmeticType(a, b), nil
	case a.kind == kindString && b.kind == kindString:
		return arrow.BinaryTypes.LargeString, nil
	case a.kind == kindBinary && b.kind == kindBinary:
		return arrow.BinaryTypes.LargeBinary, nil
	case a.kind == kindDate && b.kind == kindDate:
		return typeDate, nil
	case a.kind == kindDuration && b.kind == kindDuration:
		return &arrow.DurationType{Unit: finerUnit(a.typ, b.typ)}, nil
	case a.kind.temporal() && b.kind.temporal():
		return &arrow.TimestampType{Unit: finerUnit(a.typ, b.typ), TimeZone: commonZone(a.typ, b.typ)}, nil
	}
	return nil, typeErr(n, "%s cannot choose between %s and %s; convert one of them", n.name, typeName(a.typ), typeName(b.typ))
}

// arithmeticType is int64, uint64 or float64: what two numeric operands compute in.
func arithmeticType(a, b *tnode) arrow.DataType {
	switch {
	case a.kind == kindFloat || b.kind == kindFloat:
		return typeFloat
	case a.kind == kindUint && fitsUint(b) || b.kind == kindUint && fitsUint(a):
		return typeUint
	}
	return typeInt
}

func fitsUint(t *tnode) bool {
	v, ok := t.lit.(int64)
	return t.kind == kindUint || t.isLiteral() && ok && v >= 0
}
