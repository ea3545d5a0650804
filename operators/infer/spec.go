package infer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/infer/internal/post"
	"github.com/sluice-data/sluice/operators/isolate"
)

func init() {
	table = append(table, func(d Deps) dataset.Def {
		return dataset.Define(dataset.Def{
			Name: "infer",
			Doc:  "run a model on columns",
			Help: "Gives columns to a model and adds columns of what it answers. The model is a file that runs in this process (onnx:) or on a server (triton:), on one or several " +
				"replicas, between which requests go to the one with the least to do. Without a card, numbers, lists, tensors, texts and bytes go to the model as they are, and " +
				"answers come back as they are; a card says how pictures, texts or sounds become inputs and what is made of the answers (labels, texts, boxes). Rows with a null " +
				"input have null answers. Requests that are refused or lost are tried again elsewhere; a row at fault is a row error that names the replica and the tries.",
			Example: "infer onnx:efficientnet-lite0 image -> label, score",
		}, Params{Running: runningDefaults}, func(p Params) (dataset.Spec, error) { return Infer(d, p) })
	})
}

// Infer makes the infer operator. Zero values of parameters mean the defaults, but for Retries.
func Infer(d Deps, p Params) (dataset.Spec, error) { return newSpec("infer", d, p, false) }

// spec describes infer or embed.
type spec struct {
	name    string
	deps    Deps
	params  Params
	address address
	plan    *plan
	about   func() (*gpu.Info, error) // asks the model once
	weight  func() (weight, error)    // measures it once
	// isolated has models of this process and decoders of pictures run in child processes, in which a picture may take the time-out.
	isolated bool
	timeout  time.Duration
}

func newSpec(name string, d Deps, p Params, embed bool) (*spec, error) {
	if p.Model == "" {
		return nil, fmt.Errorf("it needs the address of a model: %s onnx:FILE column", name)
	}
	s := &spec{name: name, deps: d, params: p}
	var err error
	if s.params.Running, err = p.Running.withDefaults(); err != nil {
		return nil, err
	}
	scheme, _, _ := strings.Cut(p.Model, ":")
	if ready := d.Ready[scheme]; ready != nil {
		if err := ready(); err != nil {
			return nil, fmt.Errorf("model %q: %w", p.Model, err)
		}
	}
	var model string
	if s.plan, model, err = newPlan(&s.params, embed); err != nil {
		return nil, err
	}
	if s.address, err = parseAddress(model); err != nil {
		return nil, err
	}
	models, err := s.open(gpu.Options{}) // what cannot be opened is a mistake of the plan
	if err != nil {
		return nil, err
	}
	if err := closeAll(models); err != nil {
		return nil, err
	}
	s.about, s.weight = sync.OnceValues(s.ask), sync.OnceValues(s.measure)
	return s, nil
}

func closeAll(models []gpu.Model) error {
	var errs []error
	for _, m := range models {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// planTime is how long a server may take to describe a model while the plan is checked.
const planTime = 10 * time.Second

// ask has the first replica that answers describe the model.
func (s *spec) ask() (*gpu.Info, error) {
	models, err := s.open(gpu.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = closeAll(models) }()
	ctx, cancel := context.WithTimeout(context.Background(), planTime)
	defer cancel()
	var errs []error
	for i, m := range models {
		info, err := m.Info(ctx)
		if err == nil {
			return info, nil
		}
		errs = append(errs, fmt.Errorf("ask %s for its model: %w", s.address.names[i], err))
	}
	return nil, errors.Join(errs...)
}

var (
	_ dataset.Spec           = (*spec)(nil)
	_ dataset.OneToOne       = (*spec)(nil)
	_ dataset.Columner       = (*spec)(nil)
	_ dataset.FilterCommuter = (*spec)(nil)
	_ dataset.NotFusible     = (*spec)(nil)
	_ dataset.Memory         = (*spec)(nil)
	_ dataset.PartIsolable   = (*spec)(nil)
)

// Isolated implements dataset.PartIsolable.
func (s *spec) Isolated(timeout time.Duration) dataset.Spec {
	c := *s
	c.isolated, c.timeout = true, timeout
	c.about, c.weight = sync.OnceValues(c.ask), sync.OnceValues(c.measure)
	return &c
}

// modelIsolated says that the model runs in a child process.
func (s *spec) modelIsolated() bool { return s.isolated && s.address.scheme == inProcessScheme }

func (s *spec) Name() string               { return s.name }
func (*spec) Version() int                 { return 1 }
func (*spec) Instances() dataset.Instances { return dataset.Any }
func (s *spec) Holds() string {
	if s.modelIsolated() {
		return "streams, its model in a child process"
	}
	return "streams"
}
func (*spec) NotFusible() bool   { return true }
func (*spec) RowsOneToOne() bool { return true }
func (s *spec) Needs() dataset.Resources {
	return dataset.Resources{NoCPU: true, Window: s.params.Window + 1}
}
func (s *spec) outputs() []string { return s.plan.columns }

// results are the parameters that what comes out depends on.
type results struct {
	Model      string   `json:"model"`
	Columns    []string `json:"columns,omitempty"`
	Version    string   `json:"version,omitempty"`
	Card       string   `json:"card,omitempty"`
	CardDigest string   `json:"card_digest,omitempty"`
}

// Params leaves out what changes only how the model is run, so that a run can go on with other windows or batches.
func (s *spec) Params() any {
	return results{s.params.Model, s.params.Columns, s.params.Version, s.plan.cardName, s.plan.cardDigest}
}

// CommutesWithFilter implements dataset.FilterCommuter.
func (s *spec) CommutesWithFilter(columns []string) bool {
	return !slices.ContainsFunc(columns, func(c string) bool { return slices.Contains(s.outputs(), c) })
}

// Columns implements dataset.Columner.
func (s *spec) Columns(_ *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	need := slices.DeleteFunc(slices.Clone(want), func(c string) bool { return slices.Contains(s.outputs(), c) })
	for _, f := range s.plan.features {
		for _, c := range f.Columns() {
			if !slices.Contains(need, c) {
				need = append(need, c)
			}
		}
	}
	return need
}

// Check implements dataset.Spec.
func (s *spec) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	if s.isolated {
		if _, err := isolate.Base(); err != nil {
			return nil, fmt.Errorf("isolate: %w", err)
		}
	}
	for _, f := range s.plan.features {
		if err := f.Check(in[0]); err != nil {
			return nil, err
		}
	}
	var known *gpu.Info // asked for only where a type depends on it
	about := func() (*post.Model, error) {
		var err error
		if known, err = s.about(); err != nil {
			return nil, err
		}
		return answers(known), nil
	}
	fields := in[0].Fields()
	for _, o := range s.plan.outputs {
		f, err := o.Field(about)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(fields, func(have arrow.Field) bool { return have.Name == f.Name }) {
			return nil, fmt.Errorf("there is a column %q already; name another (-> TENSOR:COLUMN), or drop or rename it first", f.Name)
		}
		fields = append(fields, f)
	}
	if known != nil {
		if _, err := s.plan.bind(in[0], known, nil); err != nil {
			return nil, err
		}
	}
	md := in[0].Metadata()
	return arrow.NewSchema(fields, &md), nil
}

func answers(i *gpu.Info) *post.Model {
	return &post.Model{Outputs: i.Outputs, Batched: i.MaxBatch > 0, Meta: i.Meta}
}

// New implements dataset.Spec.
func (s *spec) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := s.Check(in)
	if err != nil {
		return nil, err
	}
	return &operator{spec: s, in: in[0], out: out}, nil
}
