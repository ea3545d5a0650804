package trace

import (
	"context"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// samplePath is the file that the rows of a sample come from, as identities and messages name it.
const samplePath = "the sample"

// Rows are rows that a step gave, on the heap.
type Rows struct {
	Schema *arrow.Schema
	Record arrow.RecordBatch // nil if there are none
	// Labels name the rows by those of the source that they come from: "2", or "2.1" for its first child. They are empty for rows that
	// come from no single one.
	Labels []string
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.Labels) }

func (r *Rows) release() {
	if r.Record != nil {
		r.Record.Release()
		r.Record = nil
	}
}

// gathered collects the blocks of a run.
type gathered struct {
	recs []arrow.RecordBatch
	ids  []block.Identity
}

// add keeps at most most rows in all; it says whether there is room for more.
func (g *gathered) add(b *block.Block, most int) (room bool, err error) {
	have := 0
	for _, id := range g.recs {
		have += int(id.NumRows())
	}
	n := min(b.NumRows(), most-have)
	if n > 0 {
		part := b.Slice(0, n)
		defer part.Release()
		// The copy outlives the run, whose memory is gone when it ends.
		rec, err := block.MergeRecords(memory.DefaultAllocator, []arrow.RecordBatch{part.Record()})
		if err != nil {
			return false, err
		}
		g.recs = append(g.recs, rec)
		g.ids = append(g.ids, part.Identity())
	}
	return have+n < most, nil
}

func (g *gathered) release() {
	for _, r := range g.recs {
		r.Release()
	}
}

// record is everything that was gathered as one record, or nil.
func (g *gathered) record() (arrow.RecordBatch, error) {
	if len(g.recs) == 0 {
		return nil, nil
	}
	return block.MergeRecords(memory.DefaultAllocator, g.recs)
}

// Source gives the first n values of one column as a source of that column alone, until release is called. Position tells which of them a row
// of a result comes from.
func (r *Rows) Source(column string, n int) (src dataset.Source, release func()) {
	at := r.Schema.FieldIndices(column)[0]
	col := array.NewSlice(r.Record.Column(at), 0, int64(n))
	defer col.Release()
	schema := arrow.NewSchema([]arrow.Field{r.Schema.Field(at)}, nil)
	part := &Rows{Schema: schema, Record: block.FromColumns(schema, []arrow.Array{col}, n), Labels: r.Labels[:n]}
	return &sample{part}, part.release
}

// Position is the row of a Source that row i of a block comes from, or -1.
func Position(b *block.Block, i int) int {
	file, position, _ := b.Identity().Origin(i)
	if file == nil || file.Path != samplePath {
		return -1
	}
	return int(position) - 1 //nolint:gosec // rows of a sample
}

// sample is a source of rows that are there already. Row i is at position i+1.
type sample struct{ rows *Rows }

var _ dataset.Source = (*sample)(nil)

func (*sample) Name() string { return "sample" }
func (*sample) Version() int { return 1 }
func (*sample) Params() any  { return struct{}{} }

// Schema implements dataset.Source.
func (s *sample) Schema(context.Context) (*arrow.Schema, error) { return s.rows.Schema, nil }

// Splits implements dataset.Source: one, unless there are no rows.
func (s *sample) Splits(_ context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		if s.rows.Record == nil || after != (dataset.Cursor{}) {
			return
		}
		n := uint64(s.rows.Len())
		yield(dataset.Split{Ranges: []dataset.SplitRange{{File: dataset.FileRef{Path: samplePath}, Start: 1, End: n + 1}}}, nil)
	}
}

// Open implements dataset.Source.
func (s *sample) Open(_ context.Context, _ dataset.Runtime, split dataset.Split, offset uint64) (dataset.Reader, error) {
	n := s.rows.Len()
	from := 0
	if offset > 1 {
		from = min(int(offset-1), n)
	}
	s.rows.Record.Retain()
	b := block.New(s.rows.Record, block.FromRuns(block.Run{File: split.Ranges[0].ID, First: 1, N: uint32(n), Stride: 1}))
	defer b.Release()
	return &sampleReader{next: b.Slice(from, n-from)}, nil
}

type sampleReader struct{ next *block.Block }

// Next implements dataset.Reader.
func (r *sampleReader) Next(context.Context) (*block.Block, error) {
	if r.next == nil {
		return nil, io.EOF
	}
	b := r.next
	r.next = nil
	return b, nil
}

// Close implements dataset.Reader.
func (r *sampleReader) Close() error {
	if r.next != nil {
		r.next.Release()
		r.next = nil
	}
	return nil
}
