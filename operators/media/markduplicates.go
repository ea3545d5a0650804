package media

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/hamming"
)

// MarkDuplicatesParams are the parameters of mark-duplicates.
type MarkDuplicatesParams struct {
	Hash     string `json:"hash" arg:"word" doc:"column of perceptual hashes"`
	Distance int    `json:"distance" arg:"word" doc:"most bits in which the hashes of near-duplicates differ"`
	Path     string `json:"path,omitempty" doc:"column that names the picture"`
	Out      string `json:"out,omitempty" doc:"column for the name of the first picture"`
}

var markDuplicatesDefaults = MarkDuplicatesParams{Hash: "phash", Distance: 6, Path: "path", Out: "duplicate_of"}

// Defaults implements dataset.Defaulter.
func (MarkDuplicatesParams) Defaults() any { return markDuplicatesDefaults }

func init() {
	define(dataset.Def{
		Name: "mark-duplicates",
		Doc:  "mark pictures that look like an earlier one",
		Help: "Adds duplicate_of: the path of the first picture, in source order, whose hash is within the distance, else null. " +
			"The result does not depend on parallelism. One instance holds 24 bytes and the path of each distinct hash, charged to the memory budget. " +
			"Up to a distance of 15 it looks up candidates in an index; above, it compares each picture with all earlier ones.",
		Example: "mark-duplicates phash 6",
	}, markDuplicatesDefaults, MarkDuplicates)
}

// MarkDuplicates makes the mark-duplicates operator.
func MarkDuplicates(p MarkDuplicatesParams) (dataset.Spec, error) {
	if p.Hash == "" {
		p.Hash = "phash"
	}
	if p.Path == "" {
		p.Path = "path"
	}
	if p.Out == "" {
		p.Out = "duplicate_of"
	}
	if p.Distance < 0 || p.Distance > 64 {
		return nil, fmt.Errorf("distance %d is out of range 0..64", p.Distance)
	}
	return &markSpec{p}, nil
}

type markSpec struct{ p MarkDuplicatesParams }

var (
	_ dataset.Spec           = (*markSpec)(nil)
	_ dataset.WantsOrder     = (*markSpec)(nil)
	_ dataset.OneToOne       = (*markSpec)(nil)
	_ dataset.Columner       = (*markSpec)(nil)
	_ dataset.FilterCommuter = (*markSpec)(nil)
	_ dataset.Memory         = (*markSpec)(nil)
)

func (s *markSpec) Name() string                 { return "mark-duplicates" }
func (s *markSpec) Version() int                 { return 1 }
func (s *markSpec) Params() any                  { return s.p }
func (s *markSpec) Needs() dataset.Resources     { return dataset.Resources{} }
func (s *markSpec) Instances() dataset.Instances { return dataset.One }
func (s *markSpec) WantsOrder() bool             { return true }
func (s *markSpec) RowsOneToOne() bool           { return true }
func (s *markSpec) Holds() string                { return "holds state: the path and hash of each distinct picture" }

// CommutesWithFilter is never true: a row that a filter removes first is no longer the first of its kind.
func (s *markSpec) CommutesWithFilter([]string) bool { return false }

// Columns adds the hash and the path to what is wanted.
func (s *markSpec) Columns(in *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	wanted := map[string]bool{s.p.Hash: true, s.p.Path: true}
	for _, w := range want {
		wanted[w] = true
	}
	var out []string
	for _, f := range in.Fields() {
		if wanted[f.Name] {
			out = append(out, f.Name)
		}
	}
	return out
}

func (s *markSpec) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	at, err := dataset.FieldIndex(in[0], s.p.Hash)
	if err != nil {
		return nil, fmt.Errorf("%w; put phash before mark-duplicates", err)
	}
	if t := in[0].Field(at).Type; t.ID() != arrow.UINT64 {
		return nil, fmt.Errorf("column %q is %s, want uint64 hashes as phash adds them", s.p.Hash, t)
	}
	if at, err = dataset.FieldIndex(in[0], s.p.Path); err != nil {
		return nil, fmt.Errorf("%w; name the column that identifies a picture with path=", err)
	}
	if t := in[0].Field(at).Type; !isText(t) {
		return nil, fmt.Errorf("column %q is %s, want text that names the picture", s.p.Path, t)
	}
	if in[0].HasField(s.p.Out) {
		return nil, fmt.Errorf("column %q exists already; choose another with out=", s.p.Out)
	}
	meta := in[0].Metadata()
	fields := append(append([]arrow.Field(nil), in[0].Fields()...), adding(arrow.BinaryTypes.String, s.p.Out)...)
	return arrow.NewSchema(fields, &meta), nil
}

func isText(t arrow.DataType) bool {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING
}

func (s *markSpec) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := s.Check(in)
	if err != nil {
		return nil, err
	}
	m := &marker{out: out, index: hamming.New(s.p.Distance)}
	m.hash, _ = dataset.FieldIndex(in[0], s.p.Hash)
	m.path, _ = dataset.FieldIndex(in[0], s.p.Path)
	return m, nil
}

// marker is the one instance. All earlier pictures count, also those that are duplicates themselves.
type marker struct {
	out        *arrow.Schema
	hash, path int
	index      *hamming.Index
	paths      textList
	rt         dataset.Runtime
	reserved   int64
	back       []func()
}

func (m *marker) Open(_ context.Context, rt dataset.Runtime) error {
	m.rt = rt
	return nil
}

func (m *marker) Flush(context.Context, dataset.Emit) error { return nil }

// Close gives the state back.
func (m *marker) Close() error {
	for _, f := range m.back {
		f()
	}
	m.back, m.index, m.paths = nil, nil, textList{}
	return nil
}

// Process marks the rows of one block.
func (m *marker) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	if b.NumRows() == 0 {
		return nil
	}
	hashes := b.Column(m.hash).(*array.Uint64)
	names := array.NewStringBuilder(m.rt.Allocator())
	defer names.Release()
	for row := range b.NumRows() {
		if hashes.IsNull(row) {
			names.AppendNull()
			continue
		}
		h := hashes.Value(row)
		first, exact := m.index.First(h)
		if first < 0 {
			names.AppendNull()
		} else {
			names.Append(m.paths.at(first))
		}
		if exact {
			continue
		}
		path := textAt(b.Column(m.path), row)
		if err := m.grow(ctx, len(path)); err != nil {
			return err
		}
		m.index.Add(h)
		m.paths.add(path)
	}
	cols := append([]arrow.Array(nil), b.Record().Columns()...)
	marks := names.NewArray()
	defer marks.Release()
	return emit(b.Replace(block.FromColumns(m.out, append(cols, marks), b.NumRows())))
}

// grow reserves room for one more hash and path before it is kept. Slices double, so twice what is held may be in use for a moment.
func (m *marker) grow(ctx context.Context, path int) error {
	const unit = 1 << 20
	need := 2*(m.index.Bytes()+m.paths.bytes()) + int64(path)
	for need > m.reserved {
		back, err := m.rt.Reserve(ctx, unit)
		if err != nil {
			return fmt.Errorf("hold the hashes of %d pictures: %w", m.index.Len(), err)
		}
		m.back = append(m.back, back)
		m.reserved += unit
	}
	return nil
}

// textAt reads a text column, plain or dictionary-encoded; null is empty.
func textAt(a arrow.Array, row int) string {
	if a.IsNull(row) {
		return ""
	}
	switch t := a.(type) {
	case *array.Dictionary:
		return textAt(t.Dictionary(), t.GetValueIndex(row))
	case interface{ Value(int) string }:
		return t.Value(row)
	}
	return ""
}

// textList is a list of strings in one piece of memory.
type textList struct {
	text []byte
	ends []int64
}

func (l *textList) add(s string) {
	l.text = append(l.text, s...)
	l.ends = append(l.ends, int64(len(l.text)))
}

func (l *textList) at(i int) string {
	begin := int64(0)
	if i > 0 {
		begin = l.ends[i-1]
	}
	return string(l.text[begin:l.ends[i]])
}

func (l *textList) bytes() int64 { return int64(cap(l.text)) + int64(cap(l.ends))*8 }
