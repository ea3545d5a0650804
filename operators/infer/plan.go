package infer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/infer/internal/post"
	"github.com/sluice-data/sluice/operators/infer/internal/prep"
	"github.com/sluice-data/sluice/operators/media"
)

// plan is how inputs are made and what becomes of the answers.
type plan struct {
	features   []prep.Feature
	outputs    []post.Output
	columns    []string // of outputs
	batch      int      // rows a request; 0: no wish
	cardName   string
	cardDigest string
}

// newPlan reads the columns and the card. model is the address that the card knows the model by, or the one given.
func newPlan(p *Params, embed bool) (pl *plan, model string, err error) {
	in, out, err := parseColumns(p.Columns)
	if err != nil {
		return nil, "", err
	}
	c, model, err := findCard(p)
	switch {
	case err != nil:
		return nil, "", err
	case c != nil:
		pl, err = cardPlan(c, in, out, embed)
	case embed && len(out) == 0:
		return nil, "", errors.New("name the output of the model that is the embedding, as in: embed MODEL text -> last_hidden_state:embedding, or a card that does (card=NAME)")
	default:
		pl, err = rawPlan(in, out)
	}
	return pl, model, err
}

// rawPlan gives columns to the model and takes its answers as they are.
func rawPlan(in, out []mapping) (*plan, error) {
	if len(in) == 0 {
		return nil, errors.New("name the columns that the model reads, as in: infer MODEL image -> logits")
	}
	if len(out) == 0 {
		return nil, errors.New("name the outputs of the model after ->, as in: infer MODEL image -> logits, or a card that does (card=NAME)")
	}
	pl := &plan{}
	for _, m := range in {
		if m.tensor == "" && len(in) > 1 {
			m.tensor = m.column
		}
		if slices.ContainsFunc(pl.features, func(f prep.Feature) bool { return f.(*prep.Raw).Tensor == m.tensor }) {
			return nil, fmt.Errorf("input %q of the model is given two columns", m.tensor)
		}
		pl.features = append(pl.features, &prep.Raw{Tensor: m.tensor, Column: m.column})
	}
	for _, m := range out {
		if m.tensor == "" {
			m.tensor = m.column
		}
		pl.outputs = append(pl.outputs, &post.Raw{Tensor: m.tensor, Column: m.column})
		pl.columns = append(pl.columns, m.column)
	}
	return pl, nil
}

// bound is a plan for a model and rows of a schema.
type bound struct {
	features []prep.Bound
	outputs  []post.Bound
	reads    [][]string // tensors of each output
	want     []string   // tensors to ask for; nil means all
	columns  []int      // that the features read, for telling equal rows
}

// bind makes the plan ready for a model. elsewhere gives what decodes pictures in child processes; nil: they are decoded here.
func (pl *plan) bind(in *arrow.Schema, about *gpu.Info, elsewhere func(*media.InputRule) (*media.Elsewhere, error)) (*bound, error) {
	b := &bound{}
	given := map[string]bool{}
	target := prep.Target{Inputs: about.Inputs, Batched: about.MaxBatch > 0, Elsewhere: elsewhere}
	for _, f := range pl.features {
		fb, err := f.Bind(in, target)
		if err != nil {
			return nil, err
		}
		b.features = append(b.features, fb)
		for _, t := range fb.Tensors() {
			given[t] = true
		}
		for _, c := range f.Columns() {
			if at := in.FieldIndices(c); len(at) > 0 && !slices.Contains(b.columns, at[0]) {
				b.columns = append(b.columns, at[0])
			}
		}
	}
	for _, i := range about.Inputs {
		if !given[i.Name] {
			return nil, fmt.Errorf("input %q (%s%v) of the model is given no column; write %s:COLUMN", i.Name, i.Type, i.Shape, i.Name)
		}
	}
	model := answers(about)
	for _, o := range pl.outputs {
		ob, err := o.Bind(model)
		if err != nil {
			return nil, err
		}
		b.outputs = append(b.outputs, ob)
		b.reads = append(b.reads, o.Tensors())
		for _, t := range o.Tensors() {
			if t == "" && len(about.Outputs) == 1 {
				t = about.Outputs[0].Name
			}
			if !slices.Contains(b.want, t) {
				b.want = append(b.want, t)
			}
		}
	}
	return b, nil
}
