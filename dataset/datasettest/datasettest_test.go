package datasettest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// recorder is a testing.TB that notes failures instead of failing.
type recorder struct {
	testing.TB
	errors   []string
	cleanups []func()
}

func (r *recorder) Helper() {}
func (r *recorder) Error(a ...any) {
	r.errors = append(r.errors, fmt.Sprint(a...))
}
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }
func (r *recorder) Failed() bool              { return len(r.errors) > 0 }
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }

// finish runs the cleanups as the end of a test does.
func (r *recorder) finish() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

// naughty is an operator that does one thing.
type naughty struct {
	do func(rt dataset.Runtime, b *block.Block, emit dataset.Emit) error
	rt dataset.Runtime
}

func (n *naughty) Name() string                                     { return "naughty" }
func (n *naughty) Version() int                                     { return 1 }
func (n *naughty) Params() any                                      { return nil }
func (n *naughty) Check(in []*arrow.Schema) (*arrow.Schema, error)  { return in[0], nil }
func (n *naughty) Needs() dataset.Resources                         { return dataset.Resources{} }
func (n *naughty) Instances() dataset.Instances                     { return dataset.Any }
func (n *naughty) New([]*arrow.Schema) (dataset.Operator, error)    { return n, nil }
func (n *naughty) Open(_ context.Context, rt dataset.Runtime) error { n.rt = rt; return nil }
func (n *naughty) Flush(context.Context, dataset.Emit) error        { return nil }
func (n *naughty) Close() error                                     { return nil }
func (n *naughty) Process(_ context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	return n.do(n.rt, b, emit)
}

// TestFindsBrokenContracts checks that each kind of mistake is found, and that a good operator is left alone.
func TestFindsBrokenContracts(t *testing.T) {
	other := Schema("other", arrow.PrimitiveTypes.Int64)
	for _, c := range []struct {
		name, want string
		do         func(rt dataset.Runtime, b *block.Block, emit dataset.Emit) error
	}{
		{"good", "", func(_ dataset.Runtime, b *block.Block, emit dataset.Emit) error { return emit(b.Retain()) }},
		{"leaks a block", "live rows, its token should count", func(_ dataset.Runtime, b *block.Block, _ dataset.Emit) error { b.Retain(); return nil }},
		{"leaks a buffer", "were not freed", func(rt dataset.Runtime, _ *block.Block, _ dataset.Emit) error {
			rt.Allocator().Allocate(10)
			return nil
		}},
		{"leaves a reservation", "left 5 bytes reserved", func(rt dataset.Runtime, _ *block.Block, _ dataset.Emit) error { rt.TryReserve(5); return nil }},
		{"releases twice", "released twice", func(rt dataset.Runtime, _ *block.Block, _ dataset.Emit) error {
			f, _ := rt.TryReserve(5)
			f()
			f()
			return nil
		}},
		{"emits another schema", "Check said", func(_ dataset.Runtime, b *block.Block, emit dataset.Emit) error {
			return emit(b.Replace(block.FromColumns(other, b.Record().Columns(), b.NumRows())))
		}},
		{"fails a row that is not there", "Fail names row 9 of a block of 2", func(rt dataset.Runtime, b *block.Block, _ dataset.Emit) error {
			return rt.Fail(b, 9, context.Canceled)
		}},
		{"leaves a file open", "left a scratch file open", func(rt dataset.Runtime, _ *block.Block, _ dataset.Emit) error { _, err := rt.Scratch(); return err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recorder{TB: t}
			mem := arraytest.NewMemory(r)
			in := FromJSON(r, mem, Schema("n", arrow.PrimitiveTypes.Int64), `[{"n":1},{"n":2}]`)
			Run(r, mem, &naughty{do: c.do}, Config{}, in)
			r.finish()
			if c.want == "" {
				if len(r.errors) > 0 {
					t.Errorf("a good operator is blamed: %v", r.errors)
				}
				return
			}
			if !strings.Contains(strings.Join(r.errors, "\n"), c.want) {
				t.Errorf("found %q, want %q", r.errors, c.want)
			}
		})
	}
}

func TestShapesKeepRows(t *testing.T) {
	schema := Schema("n", arrow.PrimitiveTypes.Int64)
	make := func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
		return arraytest.FromJSON(t, mem, schema, `[{"n":0},{"n":1},{"n":2},{"n":3},{"n":4},{"n":5},{"n":6}]`)
	}
	Shapes(t, make, func(t *testing.T, mem *arraytest.Memory, in Input) {
		pass := &naughty{do: func(_ dataset.Runtime, b *block.Block, emit dataset.Emit) error { return emit(b.Retain()) }}
		got := Run(t, mem, pass, Config{}, in)
		if s := strings.Join(got.Rows(), " "); s != "0 1 2 3 4 5 6" {
			t.Errorf("rows are %s", s)
		}
		if s := strings.Join(got.IDs(), " "); s != "1:0 1:1 1:2 1:3 1:4 1:5 1:6" {
			t.Errorf("identities are %s", s)
		}
	})
}
