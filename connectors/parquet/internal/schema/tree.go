package schema

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// levels are those of the place in the tree where a field is built.
type levels struct {
	def, rep, slot int
	path           []string
}

func (l levels) under(n *node) levels {
	l.path = append(append([]string(nil), l.path...), n.el.Name)
	switch n.rep() {
	case format.Optional:
		l.def++
	case format.Repeated:
		l.def++
		l.rep++
		l.slot = l.def
	}
	return l
}

// convert builds the field of n. at are the levels around n.
func convert(n *node, at levels) (*Field, error) {
	if n.rep() == format.Repeated {
		return bareRepeated(n, at)
	}
	in := at.under(n)
	if !n.isGroup() {
		return leafField(n, in, n.rep() == format.Optional)
	}
	switch {
	case n.isMap():
		if f, err := mapField(n, in); f != nil || err != nil {
			return f, err
		}
	case n.isList():
		if f, err := listField(n, in); f != nil || err != nil {
			return f, err
		}
	}
	return structField(n, in, n.rep() == format.Optional)
}

func leafField(n *node, in levels, nullable bool) (*Field, error) {
	path := strings.Join(in.path, ".")
	dt, err := leafType(n)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", path, err)
	}
	el := n.el
	length := int(el.TypeLength.V)
	if el.Type.V == format.FixedLenByteArray && (length <= 0 || length > maxFixedLength) {
		return nil, fmt.Errorf("column %q: fixed length of %d bytes is outside 1..%d", path, length, maxFixedLength)
	}
	unsigned := false
	switch dt.ID() {
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		unsigned = true
	}
	return &Field{
		Kind:    Leaf,
		Arrow:   arrow.Field{Name: el.Name, Type: dt, Nullable: nullable},
		Storage: dt, Def: in.def, Rep: in.rep, SlotDef: in.slot,
		Column: &Column{
			Index: n.column, Path: path, Physical: el.Type.V, TypeLength: length,
			MaxDef: in.def, MaxRep: in.rep, SlotDef: in.slot, Unsigned: unsigned,
		},
	}, nil
}

// maxFixedLength bounds fixed-length values: a decoded picture of 8k by 8k
// pixels fits.
const maxFixedLength = 256 << 20

func structField(n *node, in levels, nullable bool) (*Field, error) {
	f := &Field{Kind: Struct, Def: in.def, Rep: in.rep, SlotDef: in.slot}
	fields := make([]arrow.Field, 0, len(n.children))
	for _, c := range n.children {
		child, err := convert(c, in)
		if err != nil {
			return nil, err
		}
		f.Children = append(f.Children, child)
		fields = append(fields, child.Arrow)
	}
	f.Arrow = arrow.Field{Name: n.el.Name, Type: arrow.StructOf(fields...), Nullable: nullable}
	f.Storage = f.Arrow.Type
	return f, nil
}

// listField applies the rules for lists written by older writers: the
// repeated child is the element itself when it is a leaf, has several fields,
// or is named "array" or after its parent with "_tuple" behind it.
func listField(n *node, in levels) (*Field, error) {
	if len(n.children) != 1 || n.children[0].rep() != format.Repeated {
		return nil, nil
	}
	r := n.children[0]
	at := in.under(r)
	var elem *Field
	var err error
	switch {
	case !r.isGroup():
		elem, err = leafField(r, at, false)
	case len(r.children) != 1 || r.el.Name == "array" || r.el.Name == n.el.Name+"_tuple":
		elem, err = structField(r, at, false)
	default:
		elem, err = convert(r.children[0], at)
	}
	if err != nil {
		return nil, err
	}
	return newList(n.el.Name, n.rep() == format.Optional, in, at, elem), nil
}

func newList(name string, nullable bool, in, at levels, elem *Field) *Field {
	f := &Field{Kind: List, Def: in.def, Rep: at.rep, ElemDef: at.def, SlotDef: in.slot, Children: []*Field{elem}}
	f.Arrow = arrow.Field{Name: name, Type: arrow.ListOfField(elem.Arrow), Nullable: nullable}
	f.Storage = f.Arrow.Type
	return f
}

// bareRepeated is a repeated field outside any LIST group: a list that is
// never null, of elements that are never null.
func bareRepeated(n *node, around levels) (*Field, error) {
	at := around.under(n)
	var elem *Field
	var err error
	if n.isGroup() {
		elem, err = structField(n, at, false)
	} else {
		elem, err = leafField(n, at, false)
	}
	if err != nil {
		return nil, err
	}
	in := around
	return newList(n.el.Name, false, in, at, elem), nil
}

func mapField(n *node, in levels) (*Field, error) {
	if len(n.children) != 1 {
		return nil, nil
	}
	kv := n.children[0]
	if kv.rep() != format.Repeated || !kv.isGroup() || len(kv.children) != 2 {
		return nil, nil
	}
	at := in.under(kv)
	key, err := convert(kv.children[0], at)
	if err != nil {
		return nil, err
	}
	value, err := convert(kv.children[1], at)
	if err != nil {
		return nil, err
	}
	// Some writers mark keys optional; Arrow's maps never have null keys, and
	// the reader refuses one when it meets it.
	key.Arrow.Nullable = false
	f := &Field{Kind: Map, Def: in.def, Rep: at.rep, ElemDef: at.def, SlotDef: in.slot, Children: []*Field{key, value}}
	f.Arrow = arrow.Field{Name: n.el.Name, Type: arrow.MapOfFields(key.Arrow, value.Arrow), Nullable: n.rep() == format.Optional}
	f.Storage = f.Arrow.Type
	return f, nil
}
