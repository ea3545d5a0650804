package executor

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"go.uber.org/goleak"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var intSchema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

// ints is a source of files of consecutive numbers: file f holds [f*perFile, (f+1)*perFile), in blocks of perBlock rows.
type ints struct {
	files, perFile, perBlock int
	fail                     func(file int, at uint64) error
}

func (*ints) Name() string                                  { return "ints" }
func (*ints) Version() int                                  { return 1 }
func (s *ints) Params() any                                 { return map[string]int{"files": s.files, "rows": s.perFile} }
func (*ints) Schema(context.Context) (*arrow.Schema, error) { return intSchema, nil }

func (s *ints) Splits(ctx context.Context, _ dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		for f := range s.files {
			sp := dataset.Split{Bytes: int64(8 * s.perFile), Ranges: []dataset.SplitRange{{
				File: dataset.FileRef{Path: fmt.Sprintf("file-%04d", f), ETag: "1"}, Start: 0, End: uint64(s.perFile),
			}}}
			if ctx.Err() != nil || !yield(sp, nil) {
				return
			}
		}
	}
}

func (s *ints) Open(_ context.Context, rt dataset.Runtime, sp dataset.Split, offset uint64) (dataset.Reader, error) {
	var f int
	if _, err := fmt.Sscanf(sp.Ranges[0].File.Path, "file-%d", &f); err != nil {
		return nil, err
	}
	return &intReader{s: s, rt: rt, file: f, id: sp.Ranges[0].ID, pos: max(offset, sp.Ranges[0].Start)}, nil
}

type intReader struct {
	s    *ints
	rt   dataset.Runtime
	file int
	id   *block.File
	pos  uint64
}

func (r *intReader) Next(context.Context) (*block.Block, error) {
	left := r.s.perFile - int(r.pos)
	if left <= 0 {
		return nil, io.EOF
	}
	if r.s.fail != nil {
		if err := r.s.fail(r.file, r.pos); err != nil {
			return nil, err
		}
	}
	n := min(left, r.s.perBlock)
	b := array.NewInt64Builder(r.rt.Allocator())
	defer b.Release()
	b.Reserve(n)
	for i := range n {
		b.UnsafeAppend(int64(r.file*r.s.perFile) + int64(r.pos) + int64(i))
	}
	col := b.NewInt64Array()
	defer col.Release()
	out := block.New(block.FromColumns(intSchema, []arrow.Array{col}, n),
		block.FromRuns(block.Run{File: r.id, First: r.pos, N: uint32(n), Stride: 1}))
	r.pos += uint64(n)
	return out, nil
}

func (*intReader) Close() error { return nil }

// step is an operator made of functions.
type step struct {
	name    string
	inst    dataset.Instances
	needs   dataset.Resources
	process func(rt dataset.Runtime, port int, b *block.Block, emit dataset.Emit) error
	flush   func(rt dataset.Runtime, emit dataset.Emit) error
	order   bool
	holds   bool
}

func (s *step) Name() string                                  { return s.name }
func (*step) Version() int                                    { return 1 }
func (s *step) Params() any                                   { return s.name }
func (*step) Check(in []*arrow.Schema) (*arrow.Schema, error) { return in[0], nil }
func (s *step) Needs() dataset.Resources                      { return s.needs }
func (s *step) Instances() dataset.Instances                  { return s.inst }
func (s *step) WantsOrder() bool                              { return s.order }
func (s *step) Nondeterministic() bool                        { return s.holds }
func (s *step) New([]*arrow.Schema) (dataset.Operator, error) { return &stepOp{step: s}, nil }

type stepOp struct {
	*step
	rt dataset.Runtime
}

func (o *stepOp) Open(_ context.Context, rt dataset.Runtime) error { o.rt = rt; return nil }

func (o *stepOp) Process(_ context.Context, port int, b *block.Block, emit dataset.Emit) error {
	if o.process == nil {
		return emit(b.Retain())
	}
	return o.process(o.rt, port, b, emit)
}

func (o *stepOp) Flush(_ context.Context, emit dataset.Emit) error {
	if o.flush == nil {
		return nil
	}
	return o.flush(o.rt, emit)
}

func (*stepOp) Close() error { return nil }

func pass(name string) *step { return &step{name: name} }

// keep passes the rows for which f holds.
func keep(name string, f func(int64) bool) *step {
	return &step{name: name, process: func(rt dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
		var idx []uint32
		col := b.Column(0).(*array.Int64)
		for i := range b.NumRows() {
			if f(col.Value(i)) {
				idx = append(idx, uint32(i))
			}
		}
		out, err := block.Take(rt.Allocator(), b, idx)
		if err != nil {
			return err
		}
		return emit(out)
	}}
}

// limit passes n rows.
func limit(n int) *step {
	left := n
	return &step{name: "limit", inst: dataset.One, process: func(_ dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
		take := min(left, b.NumRows())
		left -= take
		if err := emit(b.Slice(0, take)); err != nil {
			return err
		}
		if left == 0 {
			return dataset.ErrStop
		}
		return nil
	}}
}

// expand emits every block times copies of new memory.
func expand(times int) *step {
	return &step{name: "expand", process: func(rt dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
		for range times {
			all := make([]uint32, b.NumRows())
			for i := range all {
				all[i] = uint32(i)
			}
			out, err := block.Take(rt.Allocator(), b, all)
			if err != nil {
				return err
			}
			if err := emit(out); err != nil {
				return err
			}
		}
		return nil
	}}
}

func newLocal(t testing.TB, memory int64, parallel int) *Local {
	t.Helper()
	l, err := New(Config{MemoryBytes: memory, Parallel: parallel, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// collect runs d and returns the numbers of its first column, in order of arrival.
func collect(t testing.TB, d dataset.Dataset, opts dataset.Options) []int64 {
	t.Helper()
	var out []int64
	for b, err := range d.Blocks(t.Context(), opts) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	return out
}

func upTo(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

func sorted(v []int64) []int64 { v = slices.Clone(v); slices.Sort(v); return v }

// counter is a goroutine-safe list of numbers.
type counter struct {
	sync.Mutex
	seen []int64
}
