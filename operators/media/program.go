package media

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// Program is the Spec of one image step, or of several adjacent ones that run as one program a row.
type Program struct{ steps []step }

var (
	_ dataset.Spec           = (*Program)(nil)
	_ dataset.Composer       = (*Program)(nil)
	_ dataset.Columner       = (*Program)(nil)
	_ dataset.OneToOne       = (*Program)(nil)
	_ dataset.FilterCommuter = (*Program)(nil)
	_ dataset.Memory         = (*Program)(nil)
	_ dataset.Backend        = (*Program)(nil)
	_ dataset.Isolable       = (*Program)(nil)
)

// Name is the step's name, or the names of all steps joined by plus signs.
func (p *Program) Name() string {
	names := make([]string, len(p.steps))
	for i := range p.steps {
		names[i] = p.steps[i].name
	}
	return strings.Join(names, "+")
}

// Version is the sum of the versions of the steps, so that it changes with each of them.
func (p *Program) Version() int {
	v := 0
	for i := range p.steps {
		v += p.steps[i].version
	}
	return v
}

// Params is the parameter struct of a single step, or a list of name and parameters of each step.
func (p *Program) Params() any {
	if len(p.steps) == 1 {
		return p.steps[0].params
	}
	type named struct {
		Step   string `json:"step"`
		Params any    `json:"params"`
	}
	all := make([]named, len(p.steps))
	for i := range p.steps {
		all[i] = named{p.steps[i].name, p.steps[i].params}
	}
	return all
}

// Recipe implements dataset.Isolable. Programs that decode run what may take a process down; the others work on pixels of ours.
func (p *Program) Recipe() []dataset.Ingredient {
	if p.steps[0].decode == nil {
		return nil
	}
	all := make([]dataset.Ingredient, len(p.steps))
	for i := range p.steps {
		all[i] = dataset.Ingredient{Name: p.steps[i].name, Params: p.steps[i].params}
	}
	return all
}

// Check computes the schema step by step.
func (p *Program) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	s := in[0]
	for i := range p.steps {
		var err error
		if s, err = p.steps[i].check(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Needs is one CPU slot: native and scratch memory is reserved picture by picture.
func (p *Program) Needs() dataset.Resources { return dataset.Resources{} }

// Backend names the library behind JPEG. That of AVIF and HEIC is not looked for before there is such a picture: opening it takes as long as a picture.
func (p *Program) Backend() string { return "jpeg: " + JPEGBackend() }

// Instances is Any: rows do not depend on each other.
func (p *Program) Instances() dataset.Instances { return dataset.Any }

// New makes an instance.
func (p *Program) New(in []*arrow.Schema) (dataset.Operator, error) { return newRunner(p, in[0]) }

// Holds says that rows stream through.
func (p *Program) Holds() string { return "streams" }

// RowsOneToOne holds unless a filter was taken over.
func (p *Program) RowsOneToOne() bool {
	return !slices.ContainsFunc(p.steps, func(s step) bool { return s.filter != nil })
}

// written lists the columns that the program adds or changes.
func (p *Program) written() []string {
	var out []string
	for i := range p.steps {
		s := &p.steps[i]
		for _, f := range s.adds {
			out = append(out, f.Name)
		}
		if s.changesImage() {
			out = append(out, s.out)
		}
	}
	return out
}

// CommutesWithFilter is true for filters that read nothing that the program writes.
func (p *Program) CommutesWithFilter(columns []string) bool {
	return !overlap(p.written(), columns)
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// Columns adds the image column and what filters read to the wanted columns. The image is needed even if nothing that is made of
// it is wanted: a damaged file must fail its row whatever happens to the pixels later.
func (p *Program) Columns(in *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	need := slices.Clone(want)
	for i := range p.steps {
		need = append(need, p.steps[i].in)
		if p.steps[i].filter != nil {
			need = append(need, p.steps[i].filter.Columns()...)
		}
	}
	var out []string
	for _, f := range in.Fields() {
		if slices.Contains(need, f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

// Compose takes over the following image step on the same column, and a following filter that reads nothing but header columns and
// columns that pass through, which then runs before any pixel is decoded.
func (p *Program) Compose(next dataset.Spec) (dataset.Spec, bool) {
	if f, ok := next.(dataset.Predicate); ok {
		return p.composeFilter(next, f.Predicate())
	}
	n, ok := next.(*Program)
	if !ok || len(n.steps) != 1 || !p.follows(&n.steps[0]) {
		return nil, false
	}
	return &Program{steps: append(slices.Clone(p.steps), n.steps[0])}, true
}

// follows reports whether s can be the next step of the same program.
func (p *Program) follows(s *step) bool {
	last := p.imageStep()
	switch {
	case s.decode != nil, last == nil, s.in != last.out, s.changesImage() && s.out != s.in:
		return false
	case p.ended():
		return false
	case p.steps[0].decode == nil && p.steps[0].changesImage() && p.steps[0].in != p.steps[0].out:
		return false // it keeps its input beside its output
	}
	return !p.measures(s)
}

// imageStep is the last step that works on the image column.
func (p *Program) imageStep() *step {
	for i := len(p.steps) - 1; i >= 0; i-- {
		s := &p.steps[i]
		if s.filter != nil {
			continue
		}
		if !s.changesImage() { // a measurement leaves the column under its name
			c := *s
			c.out = s.in
			return &c
		}
		return s
	}
	return nil
}

// ended reports whether the program gives something other than pixels.
func (p *Program) ended() bool {
	return slices.ContainsFunc(p.steps, func(s step) bool {
		_, compress := s.img.(imaging.Compress)
		return compress || s.tensor != nil
	})
}

// measures reports whether the program has a measurement of the kind of s already; it can carry one result of each.
func (p *Program) measures(s *step) bool {
	return slices.ContainsFunc(p.steps, func(o step) bool {
		switch s.img.(type) {
		case imaging.Hash:
			_, same := o.img.(imaging.Hash)
			return same
		case imaging.Measure:
			_, same := o.img.(imaging.Measure)
			return same
		}
		return false
	})
}

func (p *Program) composeFilter(next dataset.Spec, pred *expr.Expr) (dataset.Spec, bool) {
	if pred == nil || p.steps[0].decode == nil {
		return nil, false
	}
	early := []string{widthColumn, heightColumn, formatColumn}
	for _, c := range pred.Columns() {
		if slices.Contains(p.written(), c) && !slices.Contains(early, c) || c == p.steps[0].in {
			return nil, false
		}
	}
	s := step{name: next.Name(), version: next.Version(), params: next.Params(), filter: pred}
	return &Program{steps: append(slices.Clone(p.steps), s)}, true
}
