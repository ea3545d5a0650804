package dataset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Def is how an operator is found by name: in pipeline strings, in job files, in help and in completion. It is the only thing that
// an operator file adds to its package's table.
type Def struct {
	Name    string // as typed: "where"
	Doc     string // one line
	Help    string // a paragraph or more
	Example string // a step as typed
	// Zero returns a pointer to a new parameter struct with its defaults. Its fields carry the tags that ParseArgs and help read:
	//	json:"size"        the name in job files and as option (size=…)
	//	arg:"word"         taken from the words after the name, in field order ("word"), or all text that is left ("rest"), or
	//	                   comma-separated items ("list")
	//	doc:"…"            one line for help
	Zero func() any
	// Parse reads the text that follows the name in a pipeline string; nil means ParseArgs, by the tags.
	Parse func(text string) (any, error)
	// New builds the Spec from a pointer to a parameter struct.
	New func(params any) (Spec, error)
}

// Define fills in the typed parts of a Def: Zero and New for the parameter struct P.
func Define[P any](d Def, defaults P, build func(P) (Spec, error)) Def {
	d.Zero = func() any { p := defaults; return &p }
	d.New = func(params any) (Spec, error) {
		p, ok := params.(*P)
		if !ok {
			return nil, fmt.Errorf("%s: parameters are %T, want %T", d.Name, params, p)
		}
		return build(*p)
	}
	return d
}

// Pattern is a path as typed. A literal path is taken as it is; others are globs.
type Pattern struct {
	Text    string `json:"path"`
	Literal bool   `json:"literal,omitempty"`
}

// SourceDef is how a source is found: by name or by the extension of its paths.
type SourceDef struct {
	Name       string
	Doc, Help  string
	Extensions []string // without dot, lower case, without compression suffix
	Zero       func() any
	// Open makes the source. A pattern "-" is standard input.
	Open func(ctx context.Context, in []Pattern, params any) (Source, error)
}

// SinkDef is how a sink is found: by name or by the extension of its path.
type SinkDef struct {
	Name       string
	Doc, Help  string
	Extensions []string
	Zero       func() any
	// Open makes the sink. A path that ends in a slash is a folder; "-" is standard output.
	Open func(path string, params any) (Sink, error)
}

// Registry holds what a session knows by name. It is built once and then only read.
type Registry struct {
	ops     map[string]Def
	sources map[string]SourceDef
	sinks   map[string]SinkDef
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry {
	return &Registry{map[string]Def{}, map[string]SourceDef{}, map[string]SinkDef{}}
}

// AddOperators registers operators. A name that is taken is an error.
func (r *Registry) AddOperators(defs ...Def) error {
	for _, d := range defs {
		if err := add(r.ops, "operator", d.Name, d); err != nil {
			return err
		}
	}
	return nil
}

// AddSources registers sources.
func (r *Registry) AddSources(defs ...SourceDef) error {
	for _, d := range defs {
		if err := add(r.sources, "source", d.Name, d); err != nil {
			return err
		}
	}
	return nil
}

// AddSinks registers sinks.
func (r *Registry) AddSinks(defs ...SinkDef) error {
	for _, d := range defs {
		if err := add(r.sinks, "sink", d.Name, d); err != nil {
			return err
		}
	}
	return nil
}

func add[D any](m map[string]D, kind, name string, d D) error {
	if _, dup := m[name]; dup || name == "" {
		return fmt.Errorf("register %s %q: the name is taken or empty", kind, name)
	}
	m[name] = d
	return nil
}

// Operator finds an operator; the error suggests the nearest name.
func (r *Registry) Operator(name string) (Def, error) { return find(r.ops, "step", name) }

// Source finds a source by name.
func (r *Registry) Source(name string) (SourceDef, error) { return find(r.sources, "source", name) }

// Sink finds a sink by name.
func (r *Registry) Sink(name string) (SinkDef, error) { return find(r.sinks, "sink", name) }

func find[D any](m map[string]D, kind, name string) (D, error) {
	if d, ok := m[name]; ok {
		return d, nil
	}
	var zero D
	return zero, Usagef("unknown %s %q%s", kind, name, DidYouMean(name, slices.Collect(maps.Keys(m))))
}

// Operators returns all operators, by name.
func (r *Registry) Operators() []Def { return sorted(r.ops) }

// Sources returns all sources, by name.
func (r *Registry) Sources() []SourceDef { return sorted(r.sources) }

// Sinks returns all sinks, by name.
func (r *Registry) Sinks() []SinkDef { return sorted(r.sinks) }

func sorted[D any](m map[string]D) []D {
	out := make([]D, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// DidYouMean returns ` (did you mean "x"?)` for the candidate nearest to name, or "" if none is near.
func DidYouMean(name string, candidates []string) string {
	best, dist := "", 1+len(name)/3
	slices.Sort(candidates)
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(name), strings.ToLower(c)); d <= dist && (best == "" || d < dist) {
			best, dist = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance is the Levenshtein distance of two short strings, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diag+cost)
			diag, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
