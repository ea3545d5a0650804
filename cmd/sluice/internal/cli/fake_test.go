package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor"
)

// The fakes below are an engine of rows in memory, enough to run the command line without the real one.

type row struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
}

var rowSchema = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil)

// fakeSource reads JSON lines.
type fakeSource struct{ in []dataset.Pattern }

func (*fakeSource) Name() string                                  { return "jsonl" }
func (*fakeSource) Version() int                                  { return 1 }
func (s *fakeSource) Params() any                                 { return s.in }
func (*fakeSource) Schema(context.Context) (*arrow.Schema, error) { return rowSchema, nil }
func (*fakeSource) Splits(context.Context, dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(func(dataset.Split, error) bool) {}
}
func (*fakeSource) Open(context.Context, dataset.Runtime, dataset.Split, uint64) (dataset.Reader, error) {
	return nil, errors.New("the fake runner reads by itself")
}

func (s *fakeSource) rows() (out []row, err error) {
	for _, p := range s.in {
		f := os.Stdin
		if p.Text != "-" {
			if f, err = os.Open(p.Text); err != nil {
				return nil, err
			}
		}
		sc := bufio.NewScanner(f)
		for sc.Scan() {
			var r row
			if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
				return nil, fmt.Errorf("read %s: %w", p.Text, err)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// fakeSpec is a step that maps all rows.
type fakeSpec struct {
	name  string
	check func([]*arrow.Schema) (*arrow.Schema, error)
	apply func(context.Context, []row, *dataset.Plan) ([]row, error)
}

func (s *fakeSpec) Name() string               { return s.name }
func (*fakeSpec) Version() int                 { return 1 }
func (*fakeSpec) Params() any                  { return nil }
func (*fakeSpec) Needs() dataset.Resources     { return dataset.Resources{} }
func (*fakeSpec) Instances() dataset.Instances { return dataset.Any }
func (*fakeSpec) New([]*arrow.Schema) (dataset.Operator, error) {
	return nil, errors.New("the fake runner works by itself")
}
func (s *fakeSpec) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if s.check != nil {
		return s.check(in)
	}
	return in[0], nil
}

// fakeSink writes JSON lines.
type fakeSink struct{ path string }

func (*fakeSink) Name() string              { return "jsonl" }
func (*fakeSink) Version() int              { return 1 }
func (*fakeSink) Params() any               { return nil }
func (*fakeSink) Check(*arrow.Schema) error { return nil }
func (*fakeSink) NewWriter(context.Context, dataset.Runtime, dataset.Part, *arrow.Schema) (dataset.Writer, error) {
	return nil, errors.New("the fake runner writes by itself")
}
func (*fakeSink) Finish(context.Context, []dataset.Receipt) error { return nil }

func (s *fakeSink) write(rows []row) (err error) {
	w := os.Stdout
	if s.path != "-" {
		if w, err = os.Create(s.path); err != nil {
			return err
		}
	}
	for _, r := range rows {
		data, _ := json.Marshal(r)
		if _, err := w.Write(append(data, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// fakeRunner runs chains of the fakes.
type fakeRunner struct{}

func (fakeRunner) Run(ctx context.Context, p *dataset.Plan) iter.Seq2[*block.Block, error] {
	return func(yield func(*block.Block, error) bool) {
		rows, err := run(ctx, p.Outputs[0].Node, p)
		sink, _ := p.Outputs[0].Sink.(*fakeSink)
		if err == nil && sink != nil {
			err = sink.write(rows)
			p.Report.Targets = append(p.Report.Targets, dataset.TargetReport{Locator: sink.path, Rows: int64(len(rows)), Bytes: 1})
		}
		if err != nil {
			yield(nil, err)
			return
		}
		p.Report.RowsWritten, p.Report.Wall = int64(len(rows)), 5*time.Millisecond
		for len(rows) > 0 && sink == nil {
			n := min(30, len(rows))
			data, _ := json.Marshal(rows[:n])
			rec, _, err := array.RecordFromJSON(memory.NewGoAllocator(), rowSchema, strings.NewReader(string(data)))
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(block.New(rec, block.Identity{}), nil) {
				return
			}
			rows = rows[n:]
		}
	}
}

func run(ctx context.Context, n *dataset.Node, p *dataset.Plan) ([]row, error) {
	if s, ok := n.Source.(*fakeSource); ok {
		rows, err := s.rows()
		p.Report.RowsRead = int64(len(rows))
		return rows, err
	}
	rows, err := run(ctx, n.Inputs[0], p)
	if err != nil {
		return nil, err
	}
	return n.Spec.(*fakeSpec).apply(ctx, rows, p)
}

// fakeSession has the fakes by name.
type fakeSession struct {
	reg *dataset.Registry
	s   Settings
}

func (s *fakeSession) Registry() *dataset.Registry { return s.reg }
func (s *fakeSession) Runner() dataset.Runner      { return fakeRunner{} }
func (s *fakeSession) Close() error                { return nil }
func (s *fakeSession) Describe(ctx context.Context, outs ...dataset.Output) (*executor.Explanation, error) {
	l, err := executor.New(executor.Config{MemoryBytes: s.s.MemoryBytes, Parallel: s.s.Parallel})
	if err != nil {
		return nil, err
	}
	return l.Describe(ctx, &dataset.Plan{Outputs: outs, Options: s.s.Options})
}

type limitParams struct {
	N int64 `json:"n" arg:"word" doc:"how many"`
}

type whereParams struct {
	Expr string `json:"expr" arg:"rest" doc:"the condition"`
}

// step makes a Def without parameters.
func step(name string, apply func(context.Context, []row, *dataset.Plan) ([]row, error)) dataset.Def {
	return dataset.Def{Name: name, Doc: "Fake " + name + ".", New: func(any) (dataset.Spec, error) { return &fakeSpec{name: name, apply: apply}, nil }}
}

func openFake(_ context.Context, s Settings) (Session, error) {
	reg := dataset.NewRegistry()
	limit := dataset.Define(dataset.Def{Name: "limit", Doc: "Pass the first rows on.", Help: "It stops the source.", Example: "limit 10"},
		limitParams{N: 10}, func(p limitParams) (dataset.Spec, error) {
			return &fakeSpec{name: "limit", apply: func(_ context.Context, in []row, _ *dataset.Plan) ([]row, error) {
				return in[:min(int(p.N), len(in))], nil
			}}, nil
		})
	where := dataset.Define(dataset.Def{Name: "where", Doc: "Keep rows."}, whereParams{}, func(p whereParams) (dataset.Spec, error) {
		return &fakeSpec{name: "where", check: func(in []*arrow.Schema) (*arrow.Schema, error) {
			_, err := dataset.FieldIndex(in[0], strings.Fields(p.Expr)[0])
			return in[0], err
		}, apply: func(_ context.Context, in []row, _ *dataset.Plan) ([]row, error) { return in, nil }}, nil
	})
	err := errors.Join(reg.AddOperators(limit, where,
		step("fail", func(_ context.Context, in []row, p *dataset.Plan) ([]row, error) {
			e := &dataset.RowError{Op: "fail", Class: "odd", Err: errors.New("it is odd")}
			if p.Options.OnError == dataset.OnErrorFail {
				return nil, e
			}
			p.Report.RowsFailed, p.Report.Failures = 1, []dataset.Failure{{Op: "fail", Class: "odd", Count: 1,
				Examples: []dataset.FailureExample{{Where: "x.jsonl at 7", Cause: "it is odd"}}}}
			return in[1:], nil
		}),
		step("wait", func(ctx context.Context, _ []row, _ *dataset.Plan) ([]row, error) {
			fmt.Fprintln(os.Stderr, "waiting")
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}),
		step("hang", func(context.Context, []row, *dataset.Plan) ([]row, error) {
			fmt.Fprintln(os.Stderr, "waiting")
			_, err := io.Copy(io.Discard, os.Stdin)
			return nil, err
		})),
		reg.AddSources(dataset.SourceDef{Name: "jsonl", Doc: "JSON lines.", Extensions: []string{"jsonl", "ndjson"},
			Zero: func() any { return &limitParams{N: 3} },
			Open: func(_ context.Context, in []dataset.Pattern, _ any) (dataset.Source, error) {
				return &fakeSource{in}, nil
			}}),
		reg.AddSinks(dataset.SinkDef{Name: "jsonl", Doc: "JSON lines.", Extensions: []string{"jsonl"},
			Open: func(path string, _ any) (dataset.Sink, error) { return &fakeSink{path}, nil }}))
	return &fakeSession{reg, s}, err
}

func fakeProgram() Program {
	return Program{Version: "v1.2.3", Open: openFake, DefaultMemory: func() int64 { return 1 << 30 },
		Backends: func() []Backend { return []Backend{{"jpeg", "libjpeg-turbo 3.1"}} }}
}
