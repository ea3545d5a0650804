package commit

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

type planSource struct {
	params any
	schema *arrow.Schema
}

func (planSource) Name() string                                    { return "jsonl" }
func (planSource) Version() int                                    { return 1 }
func (s planSource) Params() any                                   { return s.params }
func (s planSource) Schema(context.Context) (*arrow.Schema, error) { return s.schema, nil }
func (planSource) Splits(context.Context, dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(func(dataset.Split, error) bool) {}
}
func (planSource) Open(context.Context, dataset.Runtime, dataset.Split, uint64) (dataset.Reader, error) {
	return nil, errors.New("not read")
}

type planSpec struct {
	name   string
	params any
}

func (s planSpec) Name() string                                  { return s.name }
func (planSpec) Version() int                                    { return 2 }
func (s planSpec) Params() any                                   { return s.params }
func (planSpec) Check(in []*arrow.Schema) (*arrow.Schema, error) { return in[0], nil }
func (planSpec) Needs() dataset.Resources                        { return dataset.Resources{} }
func (planSpec) Instances() dataset.Instances                    { return dataset.Any }
func (planSpec) New([]*arrow.Schema) (dataset.Operator, error)   { return nil, errors.New("not run") }

func planOf(t *testing.T, opts dataset.Options, params any, schema *arrow.Schema, specs ...planSpec) []byte {
	t.Helper()
	ds := dataset.From(planSource{params, schema}, nil)
	for _, s := range specs {
		ds = ds.Via(s)
	}
	p, err := Plan(t.Context(), ds.To(nil), dataset.NewSchemas(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var planSchema = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

func TestPlanIsCanonical(t *testing.T) {
	a := planOf(t, dataset.Options{}, map[string]any{"b": "<&>", "a": 12345678901234567}, planSchema, planSpec{"where", nil})
	b := planOf(t, dataset.Options{PartBytes: 5, OnError: dataset.OnErrorSkip, Command: "x", Target: dataset.TargetAppend}, struct {
		A int64  `json:"a"`
		B string `json:"b"`
	}{12345678901234567, "<&>"}, planSchema, planSpec{"where", nil})
	if string(a) != string(b) {
		t.Errorf("equal plans differ:\n%s\n%s", a, b)
	}
	want := `{"format":1,"sink":{"version":0},"steps":[{"params":{"a":12345678901234567,"b":"<&>"},"schema":["id int64"],"source":"jsonl","version":1},{"inputs":[0],"step":"where","version":2}]}`
	if string(a) != want {
		t.Errorf("canonical plan\n%s, want\n%s", a, want)
	}
}

func TestDiffPlans(t *testing.T) {
	type p map[string]any
	seed := dataset.Options{Seed: 7, SeedSet: true}
	wide := arrow.NewSchema(append(planSchema.Fields(), arrow.Field{Name: "x", Type: arrow.FixedWidthTypes.Boolean}), nil)
	base := planOf(t, dataset.Options{}, p{"path": "a"}, planSchema, planSpec{"where", p{"expr": "x > 1"}})
	for _, c := range []struct {
		name string
		is   []byte
		want string
	}{
		{"parameter", planOf(t, dataset.Options{}, p{"path": "a"}, planSchema, planSpec{"where", p{"expr": "x > 2"}}), `step 2 (where) expr: was "x > 1", is "x > 2"`},
		{"source", planOf(t, dataset.Options{}, p{"path": "b"}, planSchema, planSpec{"where", p{"expr": "x > 1"}}), `step 1 (jsonl) path: was "a", is "b"`},
		{"schema", planOf(t, dataset.Options{}, p{"path": "a"}, wide, planSpec{"where", p{"expr": "x > 1"}}), `step 1 (jsonl) schema: was ["id int64"], is ["id int64","x bool not null"]`},
		{"steps", planOf(t, dataset.Options{}, p{"path": "a"}, planSchema), "steps: were jsonl | where, are jsonl"},
		{"seed", planOf(t, seed, p{"path": "a"}, planSchema, planSpec{"where", p{"expr": "x > 1"}}), "seed: was not set, is 7"},
		{"unset", planOf(t, dataset.Options{}, p{"path": "a"}, planSchema, planSpec{"where", p{}}), `step 2 (where) expr: was "x > 1", is not set`},
		{"unreadable", []byte("{"), "cannot be read"},
	} {
		got := strings.Join(diffPlans(base, c.is), "\n")
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if d := diffPlans(base, base); len(d) > 0 {
		t.Errorf("equal plans differ: %q", d)
	}
}

func TestDiffIsBounded(t *testing.T) {
	was, is := map[string]any{}, map[string]any{}
	for i := range 30 {
		was[string(rune('a'+i))] = strings.Repeat("long ", 100)
		is[string(rune('a'+i))] = i
	}
	a, _ := Canonical(was)
	b, _ := Canonical(is)
	d := diffPlans(a, b)
	if len(d) != mostDiff+1 || len(strings.Join(d, "")) > 2500 {
		t.Errorf("%d lines of %d bytes", len(d), len(strings.Join(d, "")))
	}
}
