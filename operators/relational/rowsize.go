package relational

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset/block"
)

// rowSizes estimates the bytes of single rows of a record: exact for text and binary, by the average for lists.
type rowSizes struct {
	fixed  int64
	spans  []func(i int) int64
	widest int64 // of any row, once max was called
}

func newRowSizes(rec arrow.RecordBatch) *rowSizes {
	s := &rowSizes{}
	for _, c := range rec.Columns() {
		s.add(c)
	}
	return s
}

func (s *rowSizes) add(a arrow.Array) {
	switch a := a.(type) {
	case array.ExtensionArray:
		s.add(a.Storage())
	case *array.Struct:
		for f := range a.NumField() {
			s.add(a.Field(f))
		}
	case *array.String:
		s.spans = append(s.spans, span(a.ValueOffsets()))
	case *array.Binary:
		s.spans = append(s.spans, span(a.ValueOffsets()))
	case *array.LargeString:
		s.spans = append(s.spans, span(a.ValueOffsets()))
	case *array.LargeBinary:
		s.spans = append(s.spans, span(a.ValueOffsets()))
	case *array.Dictionary:
		s.fixed += 8
	default:
		if n := int64(a.Len()); n > 0 {
			s.fixed += block.ArrayBytes(a)/n + 1
		}
	}
}

func span[O int32 | int64](offs []O) func(i int) int64 {
	return func(i int) int64 { return 8 + int64(offs[i+1]-offs[i]) }
}

func (s *rowSizes) at(i int) int64 {
	n := s.fixed
	for _, f := range s.spans {
		n += f(i)
	}
	return n
}

// max returns the size of the largest of n rows.
func (s *rowSizes) max(n int) int64 {
	if len(s.spans) == 0 {
		return s.fixed
	}
	for i := range n {
		s.widest = max(s.widest, s.at(i))
	}
	return s.widest
}
