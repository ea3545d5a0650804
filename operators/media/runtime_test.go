package media

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

const photos = "../../testdata/photos"

// testRuntime is an engine of one operator instance: it checks memory, keeps failures and limits blocks.
type testRuntime struct {
	mem        *memory.CheckedAllocator
	blockBytes int64
	blockRows  int
	failures   map[string]error // by the path of the row
	stop       bool             // end the run at the first failure
	reserved   int64
	peak       int64
	limit      int64
	refusal    error // what Reserve says above the limit, if not its own words
}

func newRuntime(t testing.TB) *testRuntime {
	rt := &testRuntime{mem: memory.NewCheckedAllocator(memory.NewGoAllocator()), blockBytes: 1 << 20, blockRows: 1 << 16, failures: map[string]error{}}
	t.Cleanup(func() {
		rt.mem.AssertSize(t, 0)
		if rt.reserved != 0 {
			t.Errorf("%d bytes are still reserved", rt.reserved)
		}
	})
	return rt
}

func (r *testRuntime) Fail(b *block.Block, row int, err error) error {
	name := fmt.Sprintf("row %d", row)
	if c := b.ColumnByName("path"); c != nil {
		name = c.(*array.String).Value(row)
	}
	r.failures[name] = err
	if r.stop {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *testRuntime) Reserve(_ context.Context, n int64) (func(), error) {
	if r.limit > 0 && r.reserved+n > r.limit {
		if r.refusal != nil {
			return nil, r.refusal
		}
		return nil, fmt.Errorf("reserve %d bytes: %d of %d are in use", n, r.reserved, r.limit)
	}
	r.reserved += n
	r.peak = max(r.peak, r.reserved)
	return func() { r.reserved -= n }, nil
}

func (r *testRuntime) TryReserve(n int64) (func(), bool) {
	f, err := r.Reserve(context.Background(), n)
	return f, err == nil
}

func (r *testRuntime) Async(func(context.Context) func(dataset.Emit) error) error {
	return fmt.Errorf("image operators do not use Async")
}
func (r *testRuntime) Blocking(_ string, fn func() error) error { return fn() }
func (r *testRuntime) Allocator() memory.Allocator              { return r.mem }
func (r *testRuntime) Scratch() (*dataset.ScratchFile, error)   { return nil, os.ErrInvalid }
func (r *testRuntime) BlockBytes() int64                        { return r.blockBytes }
func (r *testRuntime) BlockRows() int                           { return r.blockRows }
func (r *testRuntime) Parallel() int                            { return 1 }
func (r *testRuntime) Logger() *slog.Logger                     { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
func (r *testRuntime) Warn(string, string)                      {}

var _ dataset.Runtime = (*testRuntime)(nil)

// run sends blocks through one instance of a Spec and returns what it emits. It takes over the blocks.
func run(t testing.TB, rt *testRuntime, spec dataset.Spec, blocks ...*block.Block) []*block.Block {
	t.Helper()
	out, err := tryRun(t, rt, spec, blocks...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryRun(t testing.TB, rt *testRuntime, spec dataset.Spec, blocks ...*block.Block) (out []*block.Block, err error) {
	t.Helper()
	in := []*arrow.Schema{blocks[0].Schema()}
	want, err := spec.Check(in)
	if err != nil {
		t.Fatal(err)
	}
	op, err := spec.New(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Open(t.Context(), rt); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, b := range out {
			b.Release()
		}
	})
	emit := func(b *block.Block) error {
		if !b.Schema().Equal(want) {
			t.Errorf("emitted schema %v, checked %v", b.Schema(), want)
		}
		out = append(out, b)
		return nil
	}
	for _, b := range blocks {
		if err == nil {
			err = op.Process(t.Context(), 0, b, emit)
		}
		b.Release()
	}
	if err == nil {
		err = op.Flush(t.Context(), emit)
	}
	if cerr := op.Close(); cerr != nil {
		t.Error(cerr)
	}
	return out, err
}

// images makes a block of path and image of files below the photos; a name that begins with ! has a null image.
func images(t testing.TB, rt *testRuntime, names ...string) *block.Block {
	t.Helper()
	paths, files := array.NewStringBuilder(rt.mem), array.NewBinaryBuilder(rt.mem, arrow.BinaryTypes.Binary)
	defer paths.Release()
	defer files.Release()
	for _, n := range names {
		paths.Append(n)
		if n[0] == '!' {
			files.AppendNull()
			continue
		}
		data, err := os.ReadFile(filepath.Join(photos, n))
		if err != nil {
			t.Fatal(err)
		}
		files.Append(data)
	}
	p, storage := paths.NewArray(), files.NewArray()
	defer p.Release()
	defer storage.Release()
	img := array.NewExtensionArrayWithStorage(block.Image, storage)
	defer img.Release()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "path", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "image", Type: block.Image, Nullable: true},
	}, nil)
	rec := block.FromColumns(schema, []arrow.Array{p, img}, len(names))
	file := &block.File{Path: "photos"}
	return block.New(rec, block.FromRuns(block.Run{File: file, N: uint32(len(names)), Stride: 1}))
}

// op builds a Spec from a step as typed.
func op(t testing.TB, text string) dataset.Spec {
	t.Helper()
	spec, err := parseOp(text)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// chain composes steps into one Spec, and fails if they do not compose.
func chain(t testing.TB, steps ...string) dataset.Spec {
	t.Helper()
	spec := op(t, steps[0])
	for _, s := range steps[1:] {
		next, ok := spec.(dataset.Composer).Compose(op(t, s))
		if !ok {
			t.Fatalf("%s does not take over %s", spec.Name(), s)
		}
		spec = next
	}
	return spec
}

// retained hands blocks to another operator.
func retained(blocks []*block.Block) []*block.Block {
	out := make([]*block.Block, len(blocks))
	for i, b := range blocks {
		out[i] = b.Retain()
	}
	return out
}

// column gathers the values of a column of all blocks as text.
func column(blocks []*block.Block, name string) []string {
	var out []string
	for _, b := range blocks {
		c := b.ColumnByName(name)
		for i := range c.Len() {
			out = append(out, c.ValueStr(i))
		}
	}
	return out
}
