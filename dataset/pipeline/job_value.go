package pipeline

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sluice-data/sluice/dataset"
)

// maxJobDepth bounds how deep the values of options nest.
const maxJobDepth = 32

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	case yaml.ScalarNode:
		if n.ShortTag() == "!!null" {
			return "empty"
		}
		if n.ShortTag() == "!!merge" {
			return "a merge key"
		}
		return "text"
	}
	return "something else"
}

// word reads a scalar as text, whatever YAML takes it for, so that what is typed is what is read ("yes", "1.10"). A missing node and
// null are "".
func (l *loader) word(n *yaml.Node, what string) (string, error) {
	if n == nil || isNull(n) {
		return "", nil
	}
	if hint := flowPlaceholder(n); hint != "" {
		return "", usage(at(n), "%s is a mapping; YAML takes braces at the start of a value for one, so quote it: %q", what, hint)
	}
	if n.Kind != yaml.ScalarNode {
		return "", usage(at(n), "%s is %s, want text", what, kindName(n))
	}
	if tag := n.ShortTag(); !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!timestamp"}, tag) {
		return "", usage(at(n), "%s has the tag %s, which job files do not know", what, tag)
	}
	return l.fill(n)
}

// flowPlaceholder recognises {name} without quotes, which YAML reads as a mapping.
func flowPlaceholder(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 && len(n.Content) == 2 && isNull(n.Content[1]) {
		return "{" + n.Content[0].Value + "}"
	}
	return ""
}

// flag reads true or false.
func (l *loader) flag(n *yaml.Node, what string) (bool, error) {
	s, err := l.word(n, what)
	if err != nil || s == "" {
		return false, err
	}
	var v struct {
		Flag bool `json:"flag"`
	}
	if err := dataset.SetOption(&v, "flag", s); err != nil {
		return false, usage(at(n), "%s is %q, want true or false", what, s)
	}
	return v.Flag, nil
}

// params reads named values, without the keys that have a meaning of their own.
func (l *loader) params(m map[string]*yaml.Node, without ...string) (map[string]any, error) {
	var out map[string]any
	for k, n := range m {
		if slices.Contains(without, k) {
			continue
		}
		v, err := l.value(n, k, 0)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = map[string]any{}
		}
		out[k] = v
	}
	if out == nil && len(without) == 0 {
		out = map[string]any{}
	}
	return out, nil
}

// value reads a value of an option: text, nil, []any or map[string]any.
func (l *loader) value(n *yaml.Node, what string, depth int) (any, error) {
	switch {
	case depth > maxJobDepth:
		return nil, usage(at(n), "%s nests deeper than %d", what, maxJobDepth)
	case isNull(n):
		return nil, nil
	case flowPlaceholder(n) != "":
		return l.word(n, what)
	case n.Kind == yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, x := range n.Content {
			var err error
			if out[i], err = l.value(x, what, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case n.Kind == yaml.MappingNode:
		m, err := l.mapping(n, what, nil)
		if err != nil {
			return nil, err
		}
		out := map[string]any{}
		for k, x := range m {
			if out[k], err = l.value(x, k, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return l.word(n, what)
}

// fill replaces the placeholders {name} of a text. {{name}} stands for {name} itself; other braces, as in globs, stay.
func (l *loader) fill(n *yaml.Node) (string, error) {
	var b strings.Builder
	s := n.Value
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		s = s[i:]
		if name, ok := placeholder(s); ok {
			v, given := l.set[name]
			if !given {
				return "", usage(at(n), "the placeholder {%s} has no value; give it with --set %s=…, or write {{%s}} for the text itself",
					name, name, name)
			}
			l.used[name] = true
			b.WriteString(v)
			s = s[len(name)+2:]
			continue
		}
		if name, ok := placeholder(s[1:]); ok && strings.HasPrefix(s[1+len(name)+2:], "}") {
			b.WriteString("{" + name + "}")
			s = s[len(name)+4:]
			continue
		}
		b.WriteByte('{')
		s = s[1:]
	}
}

// placeholder reads {name} at the start of s.
func placeholder(s string) (string, bool) {
	if !strings.HasPrefix(s, "{") {
		return "", false
	}
	name, _, ok := strings.Cut(s[1:], "}")
	if !ok || !ValidName(name) {
		return "", false
	}
	return name, true
}

// ValidName says whether a placeholder may have that name: letters, digits, _ and -, no digit or - first.
func ValidName(s string) bool {
	for i, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case i > 0 && (c >= '0' && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return s != ""
}
