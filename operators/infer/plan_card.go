package infer

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/infer/card"
	"github.com/sluice-data/sluice/operators/infer/internal/post"
	"github.com/sluice-data/sluice/operators/infer/internal/prep"
	"github.com/sluice-data/sluice/operators/infer/internal/token"
	"github.com/sluice-data/sluice/operators/media"
)

// inProcessScheme is the engine whose models are files; its addresses may name a card instead.
const inProcessScheme = "onnx"

// findCard returns the card of a model, if it has one, and the address of the model, which a card may know.
func findCard(p *Params) (c *card.Card, model string, err error) {
	model = p.Model
	if p.Card != "" {
		c, err = card.Find(p.Card)
		if err != nil {
			return nil, "", err
		}
	}
	scheme, file, _ := strings.Cut(p.Model, ":")
	if scheme != inProcessScheme || file == "" {
		return c, model, nil
	}
	if filepath.Ext(file) == "" && !strings.ContainsAny(file, `/\`) { // a name
		named, err := card.Find(file)
		if err != nil {
			return nil, "", fmt.Errorf("model %q: %w", p.Model, err)
		}
		if c == nil {
			c = named
		}
		if named.Model == "" {
			return nil, "", fmt.Errorf("model %q: card %s names no file", p.Model, named.Name)
		}
		at, err := named.File(named.Model)
		if err != nil {
			return nil, "", err
		}
		return c, inProcessScheme + ":" + at, nil
	}
	if c == nil {
		c, err = card.Beside(file)
	}
	return c, model, err
}

// cardPlan does as a card says.
func cardPlan(c *card.Card, in, out []mapping, embed bool) (*plan, error) {
	pl := &plan{batch: c.Batch, cardName: c.Name, cardDigest: c.Digest}
	given := map[string]string{} // card column to column
	var columns []string
	for _, i := range c.Inputs {
		if i.Column != "" && !slices.Contains(columns, i.Column) {
			columns = append(columns, i.Column)
		}
	}
	if len(in) > len(columns) {
		return nil, fmt.Errorf("card %s reads %d columns, and %d are given", c.Name, len(columns), len(in))
	}
	for k, m := range in {
		name := columns[k]
		if m.tensor != "" {
			i := slices.IndexFunc(c.Inputs, func(i card.Input) bool { return i.Tensor == m.tensor || i.Column == m.tensor })
			if i < 0 {
				return nil, fmt.Errorf("card %s has no input %q", c.Name, m.tensor)
			}
			name = c.Inputs[i].Column
		}
		given[name] = m.column
	}
	for k := range c.Inputs {
		f, err := cardFeature(c, &c.Inputs[k], given)
		if err != nil {
			return nil, fmt.Errorf("card %s: input %d: %w", c.Name, k+1, err)
		}
		pl.features = append(pl.features, f)
	}
	if len(out) == 0 {
		for _, name := range cardDefaults(c, embed) {
			out = append(out, mapping{name, name})
		}
		if len(out) == 0 {
			return nil, fmt.Errorf("card %s says nothing of an embedding; use infer", c.Name)
		}
	} else if embed {
		if len(out) > 1 || c.Embedding == "" && out[0].tensor == "" {
			return nil, fmt.Errorf("embed makes one column; card %s says of it %q", c.Name, c.Embedding)
		}
		if out[0].tensor == "" {
			out[0].tensor = c.Embedding
		}
	}
	for _, m := range out {
		o, err := cardOutput(c, m)
		if err != nil {
			return nil, err
		}
		pl.outputs, pl.columns = append(pl.outputs, o), append(pl.columns, m.column)
	}
	return pl, nil
}

// cardDefaults are the outputs that are made when none is named.
func cardDefaults(c *card.Card, embed bool) []string {
	if embed {
		if c.Embedding == "" {
			return nil
		}
		return []string{c.Embedding}
	}
	if len(c.Default) > 0 {
		return c.Default
	}
	var all []string
	for _, o := range c.Outputs {
		all = append(all, o.Column)
	}
	return all
}

func cardFeature(c *card.Card, in *card.Input, given map[string]string) (prep.Feature, error) {
	column := in.Column
	if g, ok := given[column]; ok {
		column = g
	}
	switch {
	case in.Image != nil:
		i := in.Image
		rule := media.InputRule{Width: i.Width, Height: i.Height, Fit: i.Fit, Share: i.Share, Multiple: i.Multiple, Grey: i.Colours == "grey", BGR: i.Colours == "bgr",
			HWC: i.Layout == "nhwc", Mean: i.Mean, Std: i.Std}
		if rule.Fit == "" {
			rule.Fit = "exact"
		}
		return &prep.Picture{Tensor: in.Tensor, Column: column, Rule: rule}, rule.Validate()
	case in.Text != nil:
		file := in.Text.Tokenizer
		load := sync.OnceValues(func() (*token.Tokenizer, error) {
			at, err := c.File(file)
			if err != nil {
				return nil, err
			}
			return token.Load(at)
		})
		return &prep.Text{Column: column, IDs: in.Tensor, Mask: in.Text.Mask, Types: in.Text.Types, Tokenizer: load, MaxTokens: in.Text.MaxTokens}, nil
	case in.Bytes != nil:
		b := in.Bytes
		return &prep.Window{Tensor: in.Tensor, Column: column, Head: b.Head, Tail: b.Tail, Pad: b.Pad, Block: b.Block, Least: b.Least}, nil
	case in.Audio != nil:
		a := in.Audio
		return &prep.Audio{Tensor: in.Tensor, Column: column, Rate: a.Rate, Window: a.Window, Context: a.Context}, nil
	case in.Constant != nil:
		return &prep.Constant{Tensor: in.Tensor, Shape: in.Constant.Shape, Value: in.Constant.Value}, nil
	case in.Raw:
		return &prep.Raw{Tensor: in.Tensor, Column: column}, nil
	}
	return nil, errors.New("it does not say how it is made")
}

func cardOutput(c *card.Card, m mapping) (post.Output, error) {
	name := m.tensor
	if name == "" {
		name = m.column
	}
	i := slices.IndexFunc(c.Outputs, func(o card.Output) bool { return o.Column == name })
	if i < 0 { // a tensor of the model that the card does not speak of
		return &post.Raw{Column: m.column, Tensor: name}, nil
	}
	o := &c.Outputs[i]
	labels := func(l *card.Labels) post.Labels {
		if l == nil {
			return nil
		}
		return func(m *post.Model) ([]string, error) { return c.Names(l, m.Meta) }
	}
	class := func(kind string, k *card.Class) post.Output {
		return &post.Class{Column: m.column, Tensor: o.Tensor, Kind: kind, Labels: labels(k.Labels), Apply: k.Apply, K: k.K, Least: k.Least}
	}
	switch {
	case o.Label != nil:
		return class(post.KindLabel, o.Label), nil
	case o.Score != nil:
		return class(post.KindScore, o.Score), nil
	case o.Index != nil:
		return class(post.KindIndex, o.Index), nil
	case o.Top != nil:
		return class(post.KindTop, o.Top), nil
	case o.CTC != nil:
		return &post.CTC{Column: m.column, Tensor: o.Tensor, Alphabet: labels(&o.CTC.Alphabet), Confidence: o.CTC.Confidence}, nil
	case o.Regions != nil:
		r := o.Regions
		return &post.Regions{Column: m.column, Tensor: o.Tensor, Threshold: or(r.Threshold, 0.3), BoxThreshold: or(r.BoxThreshold, 0.5), Grow: or(r.Grow, 1.6), Least: or(r.Least, 3)}, nil
	case o.Detect != nil:
		d := o.Detect
		return &post.Detections{Column: m.column, Boxes: o.Tensor, Scores: d.Scores, Form: d.Form, Labels: labels(d.Labels), Least: or(d.Least, 0.25),
			Overlap: or(d.Overlap, 0.45), Most: or(d.Most, 100)}, nil
	case o.Segments != nil:
		s := o.Segments
		return &post.Segments{Column: m.column, Tensor: o.Tensor, Seconds: s.Seconds, Threshold: or(s.Threshold, 0.5), MinSpeech: or(s.MinSpeech, 0.25),
			MinSilence: or(s.MinSilence, 0.1)}, nil
	}
	v := o.Values
	return &post.Raw{Column: m.column, Tensor: o.Tensor, Type: gpu.DataType(v.Type), Shape: v.Shape, Apply: v.Apply, Normalize: v.Normalize, Text: v.Text}, nil
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
