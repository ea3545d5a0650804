package schema

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// Kind says how a field is rebuilt from its columns.
type Kind uint8

// The kinds of fields.
const (
	Leaf   Kind = iota // one column
	Struct             // a group
	List               // a list of any width, or a fixed-size list
	Map                // a list of key-value pairs
)

// Field is one Arrow field with the levels that rebuild it.
//
// Def is the definition level from which on the field itself is not null. For
// lists and maps ElemDef is the level from which on a slot for an element
// exists, and Rep the repetition level of those slots. SlotDef is the ElemDef
// of the innermost list around the field (0 outside any list): below it the
// field has no slot at all.
type Field struct {
	Kind     Kind
	Arrow    arrow.Field // as the reader gives it out
	Storage  arrow.DataType
	Def      int
	Rep      int // of the innermost list around a leaf or struct; of the list itself for lists
	ElemDef  int
	SlotDef  int
	Children []*Field
	Column   *Column // leaves only
}

// Column is a leaf column as it lies in the file.
type Column struct {
	Index      int
	Path       string
	Physical   format.Type
	TypeLength int
	MaxDef     int
	MaxRep     int
	SlotDef    int
	Unsigned   bool // statistics compare as unsigned integers
	Scale      int32
}

// Columns appends the leaf columns of f.
func (f *Field) Columns(dst []*Column) []*Column {
	if f.Column != nil {
		return append(dst, f.Column)
	}
	for _, c := range f.Children {
		dst = c.Columns(dst)
	}
	return dst
}

// Nested reports whether levels beyond a plain null flag are needed.
func (f *Field) Nested() bool { return f.Kind != Leaf }
