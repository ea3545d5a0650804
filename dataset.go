package sluice

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// Dataset is a lazy, immutable description of rows. Mistakes made while building are returned by the terminal. It may be used any number of
// times: as the beginning of several others, and in several runs.
type Dataset struct {
	s    *Session
	d    dataset.Dataset
	last *step // how d was made, for Tune; nil at a source
}

// step is the last step of a dataset.
type step struct {
	from dataset.Dataset
	spec dataset.Spec
	more []dataset.Dataset
	opts []dataset.Option
}

// Plain returns the underlying dataset, for APIs of package dataset.
func (d Dataset) Plain() dataset.Dataset { return d.d }

// Via appends any operator. Further datasets are its inputs 1, 2, ….
func (d Dataset) Via(spec dataset.Spec, more ...Dataset) Dataset {
	if spec == nil {
		return d.failed(dataset.Usagef("via: the operator is nil; look at the error of the function that made it"))
	}
	st := &step{from: d.d, spec: spec}
	for _, m := range more {
		st.more = append(st.more, m.d)
	}
	return d.append(st)
}

func (d Dataset) append(st *step) Dataset {
	return Dataset{d.s, st.from.ViaWith(st.spec, st.opts, st.more...), st}
}

// Tune gives options to the last step: ds.Decode().Tune(sluice.Concurrency(1, 8)).
func (d Dataset) Tune(opts ...StepOption) Dataset {
	c := stepOptions(opts)
	switch {
	case d.d.Err() != nil:
		return d
	case d.last == nil:
		return d.failed(dataset.Usagef("tune: a source has no step options; put Tune after a step"))
	case c.onlyFunc != "":
		return d.failed(dataset.Usagef("%s: %s describes a function; give it to MapRows, FlatMapRows, FilterRows or MapBatches",
			d.last.spec.Name(), c.onlyFunc))
	}
	st := *d.last
	st.opts = append(st.opts[:len(st.opts):len(st.opts)], c.hints...)
	return d.append(&st)
}

// Step appends an operator by name, with its arguments written as in a pipeline string: Step("resize", "224x224 fill").
func (d Dataset) Step(name, args string, opts ...StepOption) Dataset {
	spec, err := d.s.spec(name, args)
	if err != nil {
		return d.failed(err)
	}
	d = d.Via(spec)
	if len(opts) > 0 {
		d = d.Tune(opts...)
	}
	return d
}

func (d Dataset) failed(err error) Dataset {
	if d.d.Err() != nil {
		return d
	}
	return d.s.failed(err)
}

func (s *Session) failed(err error) Dataset {
	return Dataset{s: s, d: dataset.Failed(err, s.local)}
}

// spec makes an operator from its name and arguments.
func (s *Session) spec(name, args string) (dataset.Spec, error) {
	def, err := s.reg.Operator(name)
	if err != nil {
		return nil, err
	}
	params, err := parseArgs(def, args)
	if err != nil {
		return nil, &dataset.UsageError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	spec, err := def.New(params)
	if err != nil {
		return nil, &dataset.UsageError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	return spec, nil
}

func parseArgs(def dataset.Def, args string) (any, error) {
	if def.Parse != nil {
		return def.Parse(args)
	}
	if def.Zero == nil {
		if strings.TrimSpace(args) != "" {
			return nil, errors.New("it takes no arguments")
		}
		return nil, nil
	}
	p := def.Zero()
	return p, dataset.ParseArgs(args, p)
}

// join writes the arguments of a step: words, then options.
func join(options []string, words ...string) string {
	for _, o := range options {
		words = append(words, optionText(o))
	}
	return strings.Join(words, " ")
}

// optionText writes name=value so that it is one word, also if the value has blanks.
func optionText(o string) string {
	name, value, ok := strings.Cut(o, "=")
	if words, err := dataset.Words(o); !ok || err == nil && len(words) == 1 {
		return o
	}
	return name + "=" + dataset.Quote(value)
}

// names writes column names as a list of a pipeline string.
func names(columns []string) string {
	q := make([]string, len(columns))
	for i, c := range columns {
		q[i] = quote(c)
	}
	return strings.Join(q, ", ")
}

// quote writes a name as one word of a pipeline string.
func quote(s string) string {
	for _, r := range s {
		if r != '_' && r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return dataset.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// Output is a dataset bound to a sink.
type Output struct {
	s   *Session
	out dataset.Output
}

// Plain returns the underlying output, for APIs of package dataset.
func (o Output) Plain() dataset.Output { return o.out }

// Run runs the output to its end. The report is there also when the run fails.
func (o Output) Run(ctx context.Context, opts ...RunOption) (*dataset.Report, error) {
	return o.s.drain(ctx, o.s.run.with(opts), o.out)
}

// Explain prints the plan: the steps as written, and the stages they are compiled to.
func (o Output) Explain(ctx context.Context) (string, error) { return o.s.Explain(ctx, o.out) }

// Analyze runs the output, which writes its result as Run does, and prints the plan with what was measured beside it: rows, waits, memory, and
// CPU time by step from a profile of the process. The text is there also when the run fails.
func (o Output) Analyze(ctx context.Context, opts ...RunOption) (string, error) {
	return o.s.analyze(ctx, o.s.run.with(opts), o.out)
}

func size(width, height int) string { return strconv.Itoa(width) + "x" + strconv.Itoa(height) }
