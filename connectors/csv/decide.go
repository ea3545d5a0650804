package csv

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// Decision is the type that inference gives a column, and the line that decided it: the first of those without which it would be another.
type Decision struct {
	Column string
	Type   arrow.DataType
	Line   int64  // 0 when every field was null
	Text   string // the field
}

// seenKind is the first field of a kind in a column.
type seenKind struct {
	kind kind
	line int64
	text string
}

// mostText is how much of a field is kept.
const mostText = 60

// Decide infers the types of one local file as reading it would, and says why.
func Decide(ctx context.Context, path string, opt Options) ([]Decision, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	s := &sampler{opt: opt.withDefaults(), types: map[string]arrow.DataType{}, kinds: map[string]kind{}, seen: map[string][]seenKind{}}
	set := file.NewSet(file.Local{}, []dataset.Pattern{{Text: path, Literal: true}})
	for ref, err := range set.Files(ctx, "") {
		if err != nil {
			return nil, err
		}
		if err := s.file(ctx, set, ref); err != nil {
			return nil, err
		}
	}
	out := make([]Decision, len(s.names))
	for i, name := range s.names {
		out[i] = Decision{Column: name, Type: typeOf(s.kinds[name])}
		if at := decider(s.kinds[name], s.seen[name]); at != nil {
			out[i].Line, out[i].Text = at.line, at.text
		}
	}
	return out, nil
}

// decider is the field without whose kind the type would be another; of several, the one that came last.
func decider(kinds kind, seen []seenKind) *seenKind {
	byLine := slices.SortedFunc(slices.Values(seen), func(a, b seenKind) int { return cmp.Compare(b.line, a.line) })
	for i := range byLine {
		if rest := kinds &^ byLine[i].kind; rest == 0 || !arrow.TypeEqual(typeOf(rest), typeOf(kinds)) {
			return &byLine[i]
		}
	}
	if len(byLine) > 0 {
		return &byLine[0]
	}
	return nil
}

// remember is the function that keeps the first field of each kind of the columns of a file.
func (s *sampler) remember(p *parser, names []string) func(column int, k kind, at int, text []byte) {
	if s.seen == nil {
		return nil
	}
	return func(column int, k kind, at int, text []byte) {
		line := int64(bytes.Count(p.buf[:at], []byte{'\n'})) + 1
		s.seen[names[column]] = append(s.seen[names[column]], seenKind{k, line, string(text[:min(len(text), mostText)])})
	}
}
