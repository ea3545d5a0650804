package schema

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// maxDepth bounds the nesting of a schema, whose levels are bytes.
const maxDepth = 64

// node is one element of the Parquet schema as a tree.
type node struct {
	el       *meta.SchemaElement
	children []*node
	column   int // index of the leaf column, -1 for groups
}

func (n *node) rep() format.FieldRepetitionType { return n.el.RepetitionType.V }
func (n *node) isGroup() bool                   { return n.column < 0 }

func (n *node) is(t deprecated.ConvertedType) bool {
	return n.el.ConvertedType.Valid && n.el.ConvertedType.V == t
}

func (n *node) isList() bool {
	_, ok := n.el.LogicalType.Value.(*format.ListType)
	return ok || n.is(deprecated.List)
}

func (n *node) isMap() bool {
	_, ok := n.el.LogicalType.Value.(*format.MapType)
	return ok || n.is(deprecated.Map) || n.is(deprecated.MapKeyValue)
}

// treeBuilder turns the flattened schema into a tree.
type treeBuilder struct {
	elements []meta.SchemaElement
	next     int
	columns  int
}

func buildTree(elements []meta.SchemaElement) (*node, error) {
	if len(elements) == 0 {
		return nil, errors.New("schema is empty")
	}
	b := treeBuilder{elements: elements}
	root, err := b.build(0)
	if err != nil {
		return nil, err
	}
	if b.next != len(elements) {
		return nil, fmt.Errorf("schema has %d elements, its tree takes %d", len(elements), b.next)
	}
	return root, nil
}

func (b *treeBuilder) build(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("schema nests deeper than %d levels", maxDepth)
	}
	if b.next >= len(b.elements) {
		return nil, errors.New("schema tree is cut off")
	}
	n := &node{el: &b.elements[b.next], column: -1}
	b.next++
	kids := int(n.el.NumChildren.V)
	if kids < 0 || kids > len(b.elements)-b.next {
		return nil, fmt.Errorf("schema element %q claims %d children", n.el.Name, kids)
	}
	if r := n.el.RepetitionType.V; r < format.Required || r > format.Repeated {
		return nil, fmt.Errorf("schema element %q has unknown repetition %d", n.el.Name, r)
	}
	if kids == 0 && depth > 0 {
		if !n.el.Type.Valid {
			return nil, fmt.Errorf("schema element %q is a group without children", n.el.Name)
		}
		n.column = b.columns
		b.columns++
		return n, nil
	}
	for range kids {
		c, err := b.build(depth + 1)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, c)
	}
	return n, nil
}
