package jsonl

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/scalar"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/coltype"
)

// The sample that inference reads.
const (
	sampleFiles = 8
	sampleBytes = 1 << 20
)

// pinned is a schema once it is known.
type pinned struct {
	fields []arrow.Field // of the objects, with the marks of newColumn
	schema *arrow.Schema // as others see it
	lossy  []string
}

// pin infers the schema from a sample and applies the schema option to it.
func pin(ctx context.Context, set *file.Set, opt Options) (*pinned, error) {
	n := newInferrer(opt)
	files := 0
	for ref, err := range set.Files(ctx, "") {
		if err != nil {
			return nil, err
		}
		if err := n.sampleFile(ctx, set, ref, opt); err != nil {
			return nil, err
		}
		if files++; files == sampleFiles {
			break
		}
	}
	overrides, err := coltype.Parse(opt.Schema)
	if err != nil {
		return nil, err
	}
	for _, c := range overrides {
		if err := n.root.override(c, c.Path); err != nil {
			return nil, err
		}
	}
	fields, err := n.schemaOf(opt.Mixed)
	if err != nil {
		return nil, err
	}
	p := &pinned{fields: fields, lossy: n.root.lossy("", nil)}
	p.schema, err = p.public(opt)
	return p, err
}

// sampleFile adds the start of one file to the sample. A first line longer than the sample is read whole, up to max_line.
func (n *inferrer) sampleFile(ctx context.Context, set *file.Set, ref dataset.FileRef, opt Options) error {
	for size := sampleBytes; ; size = min(8*size, int(opt.MaxLine)) {
		head, whole, err := set.Sample(ctx, ref, size)
		if err != nil {
			return err
		}
		n.form = formLines
		if !named(ref.Path) {
			n.form = formShown(head, whole)
		}
		if n.form != formLines { // what is wrong between the values, the reader says
			head, _ = io.ReadAll(newValueReader(bytes.NewReader(head), n.form))
		}
		if !whole && size < int(opt.MaxLine) && strings.IndexByte(scalar.View(head), '\n') < 0 {
			continue
		}
		if !whole && strings.IndexByte(scalar.View(head), '\n') < 0 && n.first == nil {
			n.path, n.broken = ref.Path, n.broken+1
			n.first = tooLong(1, opt.MaxLine)
		}
		return n.sample(ref.Path, head, whole)
	}
}

// override sets the type of the column at path below s, which need not have been in the sample.
func (s *shape) override(c coltype.Column, path []string) error {
	if len(path) == 0 {
		s.given = c.Type
		return nil
	}
	if s.given != nil {
		return dataset.Usagef("schema=: %q lies inside a column whose type is given too", strings.Join(c.Path, "."))
	}
	if path[0] == coltype.ListElement {
		if s.kinds == 0 {
			s.kinds = kindArray
		}
		if s.kinds != kindArray {
			return dataset.Usagef("schema=: %q means the elements of a list, and the sample shows none there", strings.Join(c.Path, "."))
		}
		if s.elem == nil {
			s.elem = &shape{}
		}
		return s.elem.override(c, path[1:])
	}
	if s.kinds == 0 {
		s.kinds = kindObject
	}
	if s.kinds != kindObject {
		return dataset.Usagef("schema=: %q means a key of an object, and the sample shows none there", strings.Join(c.Path, "."))
	}
	if s.fields == nil {
		s.fields = map[string]*shape{}
	}
	f := s.fields[path[0]]
	if f == nil {
		f = &shape{}
		s.fields[path[0]] = f
		s.keys = append(s.keys, path[0])
	}
	return f.override(c, path[1:])
}

// public is the schema that others see: without marks, with the columns that options add.
func (p *pinned) public(opt Options) (*arrow.Schema, error) {
	out := make([]arrow.Field, 0, len(p.fields)+2)
	add := func(name, option string) error {
		for _, f := range out {
			if f.Name == name {
				return dataset.Usagef("%s adds the column %q, and the lines have a key of that name; leave the option out", option, name)
			}
		}
		out = append(out, arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true})
		return nil
	}
	for _, f := range p.fields {
		out = append(out, unmark(f))
	}
	if opt.Extra == ExtraColumn {
		if err := add(ExtraColumnName, "extra=column"); err != nil {
			return nil, err
		}
	}
	if opt.WithPath {
		if err := add(PathColumn, "with_path"); err != nil {
			return nil, err
		}
	}
	return arrow.NewSchema(out, nil), nil
}

// unmark removes the marks of newColumn from a field and the fields inside it.
func unmark(f arrow.Field) arrow.Field {
	f.Metadata = arrow.Metadata{}
	f.Type = unmarkType(f.Type)
	return f
}

func unmarkType(dt arrow.DataType) arrow.DataType {
	switch t := dt.(type) {
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			fields[i] = unmark(f)
		}
		return arrow.StructOf(fields...)
	case *arrow.ListType:
		return arrow.ListOfField(unmark(t.ElemField()))
	}
	return dt
}

// markAny marks every string in a type that the user gave: it takes any JSON value.
func markAny(f arrow.Field) arrow.Field {
	switch t := f.Type.(type) {
	case *arrow.StringType, *arrow.LargeStringType:
		f.Metadata = anyText
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, g := range t.Fields() {
			fields[i] = markAny(g)
		}
		f.Type = arrow.StructOf(fields...)
	case *arrow.ListType:
		f.Type = arrow.ListOfField(markAny(t.ElemField()))
	}
	return f
}
