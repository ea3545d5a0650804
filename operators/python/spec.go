package python

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

// The names of columns that a function may return besides those of its schema, as package rowfn and the host know them.
const (
	parentColumn = "_parent"
	errorColumn  = "_error"
)

// spec is the step. What the class says of itself is asked once, when first needed.
type spec struct {
	p     Params
	kind  string // "class" or "function" where only that will do
	about func() (*about, error)

	mu      sync.Mutex
	layouts map[string]*layout
}

func newSpec(p Params, kind string) *spec {
	s := &spec{p: p, kind: kind, layouts: map[string]*layout{}}
	s.about = sync.OnceValues(s.ask)
	return s
}

var (
	_ dataset.Spec             = (*spec)(nil)
	_ dataset.Columner         = (*spec)(nil)
	_ dataset.Batched          = (*spec)(nil)
	_ dataset.Nondeterministic = (*spec)(nil)
	_ dataset.NotFusible       = (*spec)(nil)
	_ dataset.Memory           = (*spec)(nil)
)

func (s *spec) ask() (*about, error) {
	if err := s.p.validate(); err != nil {
		return nil, &dataset.UsageError{Err: err}
	}
	a, err := s.describe(nil)
	if err == nil && s.kind != "" && a.Kind != s.kind {
		return nil, dataset.Usagef("%s is a %s, not a %s", s.p.Target, a.Kind, s.kind)
	}
	return a, err
}

func (*spec) Name() string                 { return "python" }
func (*spec) Version() int                 { return 1 }
func (*spec) Instances() dataset.Instances { return dataset.Any }
func (*spec) Holds() string                { return "streams" }

// NotFusible implements dataset.NotFusible: the pool is the stage.
func (*spec) NotFusible() bool { return true }

// Params tells what the rows that come out depend on. Code is the version that the class states, or the hash of its module. The environment is what venv= names:
// other versions of packages may give other rows. That of SLUICE_PYTHON, which each machine has its own of, is not told.
func (s *spec) Params() any {
	out := struct {
		Target  string   `json:"target"`
		Code    string   `json:"code,omitempty"`
		Schema  string   `json:"schema,omitempty"`
		Columns []string `json:"columns,omitempty"`
		Only    bool     `json:"only,omitempty"`
		Takes   string   `json:"takes,omitempty"`
		Args    Args     `json:"args,omitempty"`
		Venv    string   `json:"venv,omitempty"`
	}{s.p.Target, "", s.p.Schema, s.p.Columns, !s.p.Keep, s.p.Takes, s.p.Args, ""}
	if s.p.Venv != "" {
		out.Venv = filepath.ToSlash(filepath.Clean(s.p.Venv))
	}
	if a, err := s.about(); err == nil { // Check reports the error
		out.Code = a.Code
	}
	return out
}

// Needs says that the processes compute, not we, and what the first of them takes.
func (s *spec) Needs() dataset.Resources {
	n := dataset.Resources{NoCPU: true, Window: 2 * s.most()}
	if a, err := s.about(); err == nil {
		n.OffHeapBytes = a.bytes
	}
	return n
}

// most is the most host processes.
func (s *spec) most() int {
	if s.p.Processes > 0 {
		return s.p.Processes
	}
	return runtime.NumCPU()
}

// SeesBatch implements dataset.Batched: a function on batches may look at all of them.
func (s *spec) SeesBatch() bool { return s.takes() != "row" }

func (s *spec) takes() string {
	if s.p.Takes != "" {
		return s.p.Takes
	}
	if a, err := s.about(); err == nil {
		return a.Takes
	}
	return ""
}

// Nondeterministic implements dataset.Nondeterministic.
func (s *spec) Nondeterministic() bool {
	a, err := s.about()
	return s.p.Nondeterministic || err == nil && a.Random
}

// layout is how the columns of the input, of the function and of the output belong together.
type layout struct {
	in   *arrow.Schema
	seen []int         // input columns that the function gets
	give *arrow.Schema // their schema
	get  []arrow.Field // columns that the function returns
	out  *arrow.Schema // of the step
	from []int         // for each column of out: i >= 0 is input column i, below 0 column -1-i of get
}

// Check implements dataset.Spec.
func (s *spec) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	l, err := s.layout(in)
	if err != nil {
		return nil, err
	}
	return l.out, nil
}

// layout makes the layout for an input and remembers it.
func (s *spec) layout(in []*arrow.Schema) (*layout, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	a, err := s.about()
	if err != nil {
		return nil, err
	}
	key := in[0].String()
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.layouts[key]; l != nil && l.in.Equal(in[0]) {
		return l, nil
	}
	l := &layout{in: in[0]}
	if l.seen, err = s.seen(a, in[0]); err != nil {
		return nil, err
	}
	fields := []arrow.Field{}
	for _, i := range l.seen {
		fields = append(fields, in[0].Field(i))
	}
	l.give = arrow.NewSchema(fields, nil)
	if l.get, err = s.returned(a, l.give); err != nil {
		return nil, err
	}
	s.place(l)
	s.layouts[key] = l
	return l, nil
}

// seen lists the input columns that the function gets.
func (s *spec) seen(a *about, in *arrow.Schema) ([]int, error) {
	names := s.p.Columns
	if names == nil {
		names = a.Columns
	}
	if names == nil {
		all := []int{}
		for i := range in.NumFields() {
			all = append(all, i)
		}
		return all, nil
	}
	out := []int{}
	for _, n := range names {
		i, err := dataset.FieldIndex(in, n)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, i) {
			return nil, fmt.Errorf("columns: %q is named twice", n)
		}
		out = append(out, i)
	}
	return out, nil
}

// returned lists the columns that the function says it returns.
func (s *spec) returned(a *about, give *arrow.Schema) (fields []arrow.Field, err error) {
	switch {
	case s.p.Schema != "":
		fields, err = parseFields(s.p.Schema)
	case a.Schema != nil:
		fields, err = fieldsOf(a.Schema)
	case a.Asks:
		var told *about
		if told, err = s.describe(give); err == nil {
			fields, err = fieldsOf(told.Schema)
		}
	default:
		return nil, fmt.Errorf("%s does not say which columns it returns: give it an attribute such as schema = {\"score\": \"float64\"}, or write schema=\"score float64\"",
			s.p.Target)
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, f := range fields {
		if f.Name == "" || f.Name == parentColumn || f.Name == errorColumn || seen[f.Name] {
			return nil, fmt.Errorf("schema: column %q is named twice, or has a name that is taken (%s, %s)", f.Name, parentColumn, errorColumn)
		}
		seen[f.Name] = true
	}
	if len(fields) == 0 && !s.p.Keep {
		return nil, errors.New("schema: it returns no columns, and keep=false keeps none")
	}
	return fields, nil
}

// place puts the columns that are kept and those that are returned in order: a returned one stands where the column of its name was.
func (s *spec) place(l *layout) {
	fields := []arrow.Field{}
	used := map[string]bool{}
	if s.p.Keep {
		for i, f := range l.in.Fields() {
			at := slices.IndexFunc(l.get, func(g arrow.Field) bool { return g.Name == f.Name })
			switch {
			case at < 0:
				fields, l.from = append(fields, f), append(l.from, i)
			case !used[f.Name]:
				used[f.Name] = true
				fields, l.from = append(fields, l.get[at]), append(l.from, -1-at)
			}
		}
	}
	for k, g := range l.get {
		if !used[g.Name] {
			fields, l.from = append(fields, g), append(l.from, -1-k)
		}
	}
	md := l.in.Metadata()
	if !s.p.Keep {
		md = arrow.Metadata{}
	}
	l.out = arrow.NewSchema(fields, &md)
}

// Columns implements dataset.Columner.
func (s *spec) Columns(in *arrow.Schema, want []string) []string {
	l, err := s.layout([]*arrow.Schema{in})
	if err != nil || want == nil && s.p.Keep {
		return nil
	}
	need := []string{}
	add := func(i int) {
		if n := in.Field(i).Name; !slices.Contains(need, n) {
			need = append(need, n)
		}
	}
	for _, i := range l.seen {
		add(i)
	}
	for k, i := range l.from {
		if i >= 0 && (want == nil || slices.Contains(want, l.out.Field(k).Name)) {
			add(i)
		}
	}
	return need
}

// New implements dataset.Spec.
func (s *spec) New(in []*arrow.Schema) (dataset.Operator, error) {
	l, err := s.layout(in)
	if err != nil {
		return nil, err
	}
	return newOp(s, l)
}
