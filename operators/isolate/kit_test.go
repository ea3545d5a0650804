package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// TestMain is a child where the tests start one. It looks for what tests leave behind: goroutines, processes, shared memory.
func TestMain(m *testing.M) {
	Serve(registry, models)
	if os.Getenv(parentVariable) != "" {
		parent()
		return
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	left, _ := filepath.Glob("/dev/shm/sluice-*.lock")
	for _, f := range left {
		if pid, err := os.ReadFile(f); err == nil && strings.TrimSpace(string(pid)) == fmt.Sprint(os.Getpid()) {
			fmt.Fprintf(os.Stderr, "shared memory was left: %s\n", f)
			code = 1
		}
	}
	os.Exit(code)
}

// registry has the step of these tests.
func registry() (*dataset.Registry, error) {
	reg := dataset.NewRegistry()
	return reg, reg.AddOperators(dataset.Define(dataset.Def{Name: "decode-test"}, params{}, func(p params) (dataset.Spec, error) { return &decoder{p}, nil }))
}

// params of the step. Each block of results has Every rows.
type params struct {
	Every int    `json:"every"`
	Dir   string `json:"dir"` // where it remembers that it has died
}

var (
	table  = dt.Schema("id", arrow.PrimitiveTypes.Int64, "file", arrow.BinaryTypes.String)
	result = dt.Schema("id", arrow.PrimitiveTypes.Int64, "file", arrow.BinaryTypes.String, "size", arrow.PrimitiveTypes.Int64)
)

// decoder is a step that does to its process what the file says.
type decoder struct{ p params }

var _ dataset.Isolable = (*decoder)(nil)

func (*decoder) Name() string                                    { return "decode-test" }
func (*decoder) Version() int                                    { return 1 }
func (d *decoder) Params() any                                   { return d.p }
func (*decoder) Check(in []*arrow.Schema) (*arrow.Schema, error) { return result, nil }
func (*decoder) Needs() dataset.Resources                        { return dataset.Resources{} }
func (*decoder) Instances() dataset.Instances                    { return dataset.Any }
func (*decoder) RowsOneToOne() bool                              { return true }
func (d *decoder) New([]*arrow.Schema) (dataset.Operator, error) { return &decoding{p: d.p}, nil }
func (d *decoder) Recipe() []dataset.Ingredient {
	return []dataset.Ingredient{{Name: "decode-test", Params: d.p}}
}

type decoding struct {
	p      params
	rt     dataset.Runtime
	marker dataset.RowMarker
	out    *array.RecordBuilder
	rows   []uint32
}

func (d *decoding) Open(_ context.Context, rt dataset.Runtime) error {
	d.rt = rt
	d.marker, _ = rt.(dataset.RowMarker)
	d.out = array.NewRecordBuilder(rt.Allocator(), result)
	return nil
}

func (d *decoding) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	ids, files := b.Column(0).(*array.Int64), b.Column(1).(*array.String)
	for i := range b.NumRows() {
		if d.marker != nil {
			d.marker.MarkRow(i)
		}
		if files.IsNull(i) {
			continue // as a filter would
		}
		size, err := d.decode(ctx, files.Value(i))
		if err != nil {
			if err := d.rt.Fail(b, i, err); err != nil {
				return err
			}
			continue
		}
		d.out.Field(0).(*array.Int64Builder).Append(ids.Value(i))
		d.out.Field(1).(*array.StringBuilder).Append(files.Value(i))
		d.out.Field(2).(*array.Int64Builder).Append(size)
		d.rows = append(d.rows, uint32(i))
		if d.p.Every > 0 && len(d.rows) == d.p.Every {
			if err := d.give(b, emit); err != nil {
				return err
			}
		}
	}
	return d.give(b, emit)
}

func (d *decoding) give(b *block.Block, emit dataset.Emit) error {
	if len(d.rows) == 0 {
		return nil
	}
	rec := d.out.NewRecordBatch()
	rows := d.rows
	d.rows = nil
	return emit(b.Select(rec, rows))
}

type badFile struct{}

func (badFile) Error() string { return "the file is cut off" }
func (badFile) Class() string { return "truncated" }

// decode does what the name of a file says.
func (d *decoding) decode(ctx context.Context, file string) (int64, error) {
	what, _, _ := strings.Cut(file, ".")
	switch what {
	case "bad":
		return 0, badFile{}
	case "faults":
		p, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return 0, err
		}
		return int64(p[len(file)]), nil
	case "panics":
		panic("index out of range in a decoder")
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "ends":
		os.Exit(7)
	case "once": // dies the first time only, as if it had been killed for reasons of its own
		mark := filepath.Join(d.p.Dir, file)
		if _, err := os.Stat(mark); err != nil {
			_ = os.WriteFile(mark, nil, 0o600)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	case "prints":
		fmt.Println("decoder says: odd marker")
	case "hangs":
		fmt.Fprintln(os.Stderr, "hangs", os.Getpid())
		select {}
	case "reserves":
		release, err := d.rt.Reserve(ctx, 5<<20)
		if err != nil {
			return 0, err
		}
		defer release()
	case "large":
		n, err := strconv.Atoi(strings.Split(file, ".")[1])
		return int64(n), err
	case "wrong":
		return 0, &dataset.FatalError{Err: errors.New("the library is too old")}
	}
	return int64(len(file)), nil
}

func (*decoding) Flush(context.Context, dataset.Emit) error { return nil }
func (d *decoding) Close() error {
	if d.out != nil {
		d.out.Release()
	}
	return nil
}

// files makes a block of rows with these files; "" is null.
func files(t testing.TB, mem *arraytest.Memory, names ...string) dt.Input {
	t.Helper()
	b := array.NewRecordBuilder(mem, table)
	defer b.Release()
	for i, n := range names {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if n == "" {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(n)
		}
	}
	return dt.FromRecord(b.NewRecordBatch(), 1)
}

var _ memory.Allocator = (*arraytest.Memory)(nil)
