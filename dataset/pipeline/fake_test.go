package pipeline

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// fakeSource remembers how it was opened.
type fakeSource struct {
	name     string
	patterns []dataset.Pattern
	params   any
	schema   *arrow.Schema
}

func (s *fakeSource) Name() string                                  { return s.name }
func (s *fakeSource) Version() int                                  { return 1 }
func (s *fakeSource) Params() any                                   { return s.params }
func (s *fakeSource) Schema(context.Context) (*arrow.Schema, error) { return s.schema, nil }
func (s *fakeSource) Splits(context.Context, dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(func(dataset.Split, error) bool) {}
}
func (s *fakeSource) Open(context.Context, dataset.Runtime, dataset.Split, uint64) (dataset.Reader, error) {
	return nil, fmt.Errorf("not read in tests")
}

// fakeSpec is an operator that only checks.
type fakeSpec struct {
	name   string
	params any
	check  func([]*arrow.Schema) (*arrow.Schema, error)
}

func (s *fakeSpec) Name() string                 { return s.name }
func (s *fakeSpec) Version() int                 { return 1 }
func (s *fakeSpec) Params() any                  { return s.params }
func (s *fakeSpec) Needs() dataset.Resources     { return dataset.Resources{} }
func (s *fakeSpec) Instances() dataset.Instances { return dataset.Any }
func (s *fakeSpec) New([]*arrow.Schema) (dataset.Operator, error) {
	return nil, fmt.Errorf("not run in tests")
}
func (s *fakeSpec) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if s.check != nil {
		return s.check(in)
	}
	return in[0], nil
}

// fakeSink remembers how it was opened.
type fakeSink struct {
	name, path string
	params     any
}

func (s *fakeSink) Name() string { return s.name }
func (s *fakeSink) Version() int { return 1 }
func (s *fakeSink) Params() any  { return s.params }
func (s *fakeSink) Check(in *arrow.Schema) error {
	if _, ok := in.FieldsByName("bad"); ok {
		return fmt.Errorf("column %q cannot be written", "bad")
	}
	return nil
}
func (s *fakeSink) NewWriter(context.Context, dataset.Runtime, dataset.Part, *arrow.Schema) (dataset.Writer, error) {
	return nil, fmt.Errorf("not written in tests")
}
func (s *fakeSink) Finish(context.Context, []dataset.Receipt) error { return nil }

// fakeRunner runs nothing.
type fakeRunner struct{}

func (fakeRunner) Run(context.Context, *dataset.Plan) iter.Seq2[*block.Block, error] {
	return func(func(*block.Block, error) bool) {}
}

type csvParams struct {
	Delim string `json:"delim"`
	Null  string `json:"null"`
}

type whereParams struct {
	Expr string `json:"expr" arg:"rest"`
}

type limitParams struct {
	N int64 `json:"n" arg:"word"`
}

type selectParams struct {
	Columns []string `json:"columns" arg:"list"`
}

type resizeParams struct {
	Size string `json:"size" arg:"word"`
	Mode string `json:"mode" arg:"word"`
}

func op[P any](name string, check func(P, []*arrow.Schema) (*arrow.Schema, error)) dataset.Def {
	var zero P
	return dataset.Define(dataset.Def{Name: name}, zero, func(p P) (dataset.Spec, error) {
		s := &fakeSpec{name: name, params: p}
		if check != nil {
			s.check = func(in []*arrow.Schema) (*arrow.Schema, error) { return check(p, in) }
		}
		return s, nil
	})
}

func source(name string, schema *arrow.Schema, exts ...string) dataset.SourceDef {
	return dataset.SourceDef{Name: name, Extensions: exts, Zero: func() any { return &csvParams{Delim: ","} },
		Open: func(_ context.Context, in []dataset.Pattern, params any) (dataset.Source, error) {
			return &fakeSource{name, in, params, schema}, nil
		}}
}

func sink(name string, exts ...string) dataset.SinkDef {
	return dataset.SinkDef{Name: name, Extensions: exts, Zero: func() any { return &csvParams{} },
		Open: func(path string, params any) (dataset.Sink, error) { return &fakeSink{name, path, params}, nil }}
}

// fakeRegistry has a few steps, readers and writers.
func fakeRegistry() *dataset.Registry {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	bad := arrow.NewSchema([]arrow.Field{{Name: "bad", Type: arrow.Null}}, nil)
	reg := dataset.NewRegistry()
	must(reg.AddOperators(
		op[whereParams]("where", nil),
		op[limitParams]("limit", func(p limitParams, in []*arrow.Schema) (*arrow.Schema, error) {
			if p.N < 0 {
				return nil, fmt.Errorf("n is %d, want zero or above", p.N)
			}
			return in[0], nil
		}),
		op("select", func(p selectParams, in []*arrow.Schema) (*arrow.Schema, error) {
			for _, c := range p.Columns {
				if _, err := dataset.FieldIndex(in[0], c); err != nil {
					return nil, err
				}
			}
			return in[0], nil
		}),
		op[resizeParams]("resize", nil),
		dataset.Def{Name: "decode", New: func(any) (dataset.Spec, error) { return &fakeSpec{name: "decode"}, nil }},
	))
	must(reg.AddSources(source("csv", schema, "csv", "tsv"), source("jsonl", schema, "jsonl", "ndjson"), source("parquet", bad, "parquet"),
		source("images", schema, "jpg", "jpeg", "png", "webp", "avif"), source("binary", schema), source("other", schema, "ndjson")))
	must(reg.AddSinks(sink("csv", "csv"), sink("jsonl", "jsonl"), sink("parquet", "parquet")))
	return reg
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func fakeEnv() Env { return Env{Registry: fakeRegistry(), Runner: fakeRunner{}} }
