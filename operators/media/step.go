package media

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// DefaultColumn is the column that image operators work on unless in= says otherwise.
const DefaultColumn = "image"

// step is one image operator of a program.
type step struct {
	name    string
	version int
	params  any
	in, out string

	decode *decodeStep    // this or one of the following is set
	img    imaging.Step   // a transformation or a measurement
	tensor *tensorStep    // ends a program
	filter *expr.Expr     // a row filter taken over from a neighbour
	adds   []arrow.Field  // columns that are appended
	gives  arrow.DataType // what the image column becomes; nil if it stays
}

// changesImage reports whether the step replaces the image column.
func (s *step) changesImage() bool { return s.gives != nil }

// single makes the Spec of one operator.
func single(s step) dataset.Spec { return &Program{steps: []step{s}} }

// columns settles in= and out=.
func columns(in, out string) (string, string) {
	if in == "" {
		in = DefaultColumn
	}
	if out == "" {
		out = in
	}
	return in, out
}

// check computes the schema after the step.
func (s *step) check(in *arrow.Schema) (*arrow.Schema, error) {
	if s.filter != nil {
		_, err := expr.Compile(s.filter, in)
		return in, err
	}
	at, err := dataset.FieldIndex(in, s.in)
	if err != nil {
		return nil, err
	}
	if err := s.checkInput(in.Field(at)); err != nil {
		return nil, err
	}
	fields := append([]arrow.Field(nil), in.Fields()...)
	add := s.adds
	if s.changesImage() {
		f := arrow.Field{Name: s.out, Type: s.gives, Nullable: true}
		if s.out == s.in {
			fields[at] = f
		} else {
			add = append([]arrow.Field{f}, add...)
		}
	}
	for _, f := range add {
		if in.HasField(f.Name) {
			return nil, fmt.Errorf("column %q exists already; rename it first: rename %s old_%s", f.Name, f.Name, f.Name)
		}
		fields = append(fields, f)
	}
	meta := in.Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

// checkInput refuses a column that does not hold what the step works on.
func (s *step) checkInput(f arrow.Field) error {
	if s.decode != nil {
		if isPixels(f.Type) {
			if s.name != "decode" {
				return fmt.Errorf("column %q is decoded already; put %s in the place of decode", f.Name, s.name)
			}
			return fmt.Errorf("column %q is decoded already; leave this decode out", f.Name)
		}
		if !isEncoded(f.Type) {
			return fmt.Errorf("column %q is %s, want image or binary", f.Name, f.Type)
		}
		return nil
	}
	if isPixels(f.Type) {
		return nil
	}
	if _, ok := f.Type.(*block.ImageType); ok {
		return fmt.Errorf("column %q holds encoded images; put decode before %s", f.Name, s.name)
	}
	return fmt.Errorf("column %q is %s, want pixels; put decode before %s", f.Name, f.Type, s.name)
}

func isPixels(t arrow.DataType) bool {
	_, ok := t.(*block.PixelsType)
	return ok
}

// isEncoded reports whether a column can hold files: sluice.image, or plain binary from any source.
func isEncoded(t arrow.DataType) bool {
	if e, ok := t.(*block.ImageType); ok {
		t = e.StorageType()
	}
	return t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY
}

// adding makes nullable fields of one type.
func adding(t arrow.DataType, names ...string) []arrow.Field {
	out := make([]arrow.Field, len(names))
	for i, n := range names {
		out[i] = arrow.Field{Name: n, Type: t, Nullable: true}
	}
	return out
}
