package jsonl

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// Decision is the type that inference gives a column, and the line that decided it: the first of those without which it would be another.
type Decision struct {
	Column string // with dots for keys inside objects, [] for elements of lists
	Type   arrow.DataType
	Line   int64  // 0 when every value was null
	Text   string // the value, or how it begins
	Err    error  // the values have no common type
}

// Decide infers the types of one file as reading it would, and says why. lines is how many objects the sample had, broken how many of its
// lines were none.
func Decide(ctx context.Context, path string, opt Options) (all []Decision, lines, broken int, err error) {
	if err := opt.Validate(); err != nil {
		return nil, 0, 0, err
	}
	opt = opt.withDefaults()
	n := newInferrer(opt)
	set := file.NewSet(file.Local{}, []dataset.Pattern{{Text: path, Literal: true}})
	for ref, err := range set.Files(ctx, "") {
		if err != nil {
			return nil, 0, 0, err
		}
		if err := n.sampleFile(ctx, set, ref, opt); err != nil {
			return nil, 0, 0, err
		}
	}
	if n.lines == 0 && n.broken > 0 {
		_, err := n.schemaOf(opt.Mixed)
		return nil, 0, n.broken, err
	}
	n.root.decisions("", opt.Mixed, &all)
	return all, n.lines, n.broken, nil
}

// decisions appends those of the columns below s.
func (s *shape) decisions(at string, mixed MixedPolicy, all *[]Decision) {
	for _, name := range s.keys {
		path := name
		if at != "" {
			path = at + "." + name
		}
		s.fields[name].decide(path, mixed, all)
	}
}

func (s *shape) decide(path string, mixed MixedPolicy, all *[]Decision) {
	d := Decision{Column: path}
	f, err := s.field(path, path, mixed)
	switch {
	case err != nil && s.kinds&(s.kinds-1) != 0 && s.kinds&^(kindInt|kindBig|kindFloat) != 0:
		d.Err = err
	case err != nil: // something inside has no type: it is named there
		d.Type = arrow.StructOf()
	default:
		d.Type = f.Type
	}
	if at := s.decider(); at != nil {
		d.Line, d.Text = at.line, valueText(at.text)
	}
	*all = append(*all, d)
	if s.kinds&kindObject != 0 {
		s.decisions(path, mixed, all)
	}
	if s.kinds&kindArray != 0 && s.elem != nil && s.elem.kinds&(kindObject|kindArray) != 0 {
		s.elem.decide(path+"[]", mixed, all)
	}
}

// decider is the first value of the kind that made the type what it is: of numbers the widest, else the kind that came last.
func (s *shape) decider() *seen {
	const numbers = kindInt | kindBig | kindFloat
	kinds := s.kinds
	if kinds&^numbers == 0 {
		for _, k := range []kind{kindFloat, kindBig, kindInt} {
			if kinds&k != 0 {
				return &s.first[log2(k)]
			}
		}
		return nil
	}
	var of []*seen
	for k := kind(1); k <= kindArray; k <<= 1 {
		if kinds&k != 0 {
			of = append(of, &s.first[log2(k)])
		}
	}
	return slices.MaxFunc(of, func(a, b *seen) int { return cmp.Compare(a.line, b.line) })
}

// valueText cuts the text that follows a scalar off.
func valueText(s string) string {
	switch {
	case s == "" || s[0] == '{' || s[0] == '[':
	case s[0] == '"':
		for i := 1; i < len(s); i++ {
			if s[i] == '\\' {
				i++
			} else if s[i] == '"' {
				return s[:i+1]
			}
		}
	default:
		if i := strings.IndexAny(s, ",}] \t"); i > 0 {
			return s[:i]
		}
	}
	return s
}
