package hf

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// labelColumn holds the class of a media file: the name of the folder that it lies in.
const labelColumn = "label"

// bytesColumn is the column of bytes of the reader of whole files, which gets the name of its kind.
const bytesColumn = "data"

// labelled tells whether the folders of media files name their classes, as the datasets library decides it: all files of all splits lie
// equally deep, in folders of several names. Folders that name splits are no classes.
func labelled(splits []fileSplit) bool {
	depth, names, classes := 0, map[string]bool{}, false
	for _, s := range splits {
		for _, p := range s.paths {
			n := strings.Count(p, "/")
			if n == 0 || kindByExtension(p) == "" || depth > 0 && n != depth {
				return false
			}
			depth = n
			name := classOf(p)
			names[name] = true
			classes = classes || splitOf(name) == ""
		}
	}
	return classes && len(names) > 1
}

func classOf(p string) string { return path.Base(path.Dir(p)) }

// filesSource gives media files without a table: path, the bytes in the column of their kind, and the label if their folders name classes.
type filesSource struct {
	inner   dataset.Source // of path and bytes, and what folders named key=value say
	kind    string         // what the column of bytes is called
	labels  bool
	columns []string // wanted; nil: all
	params  sourceParams
}

var (
	_ dataset.Source      = (*filesSource)(nil)
	_ dataset.Projectable = (*filesSource)(nil)
	_ dataset.LimitHint   = (*filesSource)(nil)
)

// Name implements dataset.Source.
func (*filesSource) Name() string { return Name }

// Version implements dataset.Source.
func (*filesSource) Version() int { return 1 }

// Params implements dataset.Source.
func (s *filesSource) Params() any { return s.params }

// Project implements dataset.Projectable.
func (s *filesSource) Project(columns []string) (dataset.Source, error) {
	out := *s
	out.columns = append([]string{}, columns...)
	return &out, nil
}

// LimitHint implements dataset.LimitHint.
func (s *filesSource) LimitHint(n int64) dataset.Source {
	out := *s
	if h, ok := s.inner.(dataset.LimitHint); ok {
		out.inner = h.LimitHint(n)
	}
	return &out
}

// parts are the source of the files with the columns that are wanted of it, and the schema of the blocks.
func (s *filesSource) parts(ctx context.Context) (inner dataset.Source, schema *arrow.Schema, err error) {
	full, err := s.inner.Schema(ctx)
	if err != nil {
		return nil, nil, err
	}
	inner = s.inner
	var fields []arrow.Field
	own := []string{}
	for _, f := range full.Fields() {
		name := f.Name
		if f.Name == bytesColumn {
			f.Name = s.kind
		}
		if s.columns == nil || slices.Contains(s.columns, f.Name) {
			fields = append(fields, f)
			own = append(own, name)
		}
	}
	if s.columns != nil {
		p, ok := s.inner.(dataset.Projectable)
		if !ok {
			return nil, nil, fmt.Errorf("read hf: the reader %s cannot leave columns out", s.inner.Name())
		}
		if inner, err = p.Project(own); err != nil {
			return nil, nil, err
		}
	}
	if s.labels && (s.columns == nil || slices.Contains(s.columns, labelColumn)) {
		fields = append(fields, arrow.Field{Name: labelColumn, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	return inner, arrow.NewSchema(fields, nil), nil
}

// Schema implements dataset.Source.
func (s *filesSource) Schema(ctx context.Context) (*arrow.Schema, error) {
	_, schema, err := s.parts(ctx)
	return schema, err
}

// Splits implements dataset.Source.
func (s *filesSource) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return s.inner.Splits(ctx, after)
}

// Open implements dataset.Source.
func (s *filesSource) Open(ctx context.Context, rt dataset.Runtime, sp dataset.Split, offset uint64) (dataset.Reader, error) {
	inner, schema, err := s.parts(ctx)
	if err != nil {
		return nil, err
	}
	r, err := inner.Open(ctx, rt, sp, offset)
	if err != nil {
		return nil, err
	}
	return &filesReader{r, rt.Allocator(), schema}, nil
}

// filesReader renames the columns of another reader and adds the labels.
type filesReader struct {
	dataset.Reader
	mem    memory.Allocator
	schema *arrow.Schema
}

// Next implements dataset.Reader.
func (r *filesReader) Next(ctx context.Context) (*block.Block, error) {
	b, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	cols := append([]arrow.Array{}, b.Record().Columns()...)
	if len(cols) < r.schema.NumFields() {
		labels := array.NewStringBuilder(r.mem)
		defer labels.Release()
		for row := range b.NumRows() {
			f, _, _ := b.Identity().Origin(row)
			if f == nil {
				return nil, fmt.Errorf("read hf: a row does not say of which file it is")
			}
			labels.Append(classOf(f.Path))
		}
		a := labels.NewArray()
		defer a.Release()
		cols = append(cols, a)
	}
	return b.Replace(block.FromColumns(r.schema, cols, b.NumRows())), nil
}
