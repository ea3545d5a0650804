package pipeline

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Job writes a pipeline that Env.Canonical made as a job file that LoadJob reads back, with braces doubled where they would be a placeholder.
func (p *Pipeline) Job() ([]byte, error) {
	root := mappingNode()
	put(root, "version", scalarNode(strconv.Itoa(JobVersion)))
	put(root, "source", p.Source.node())
	if len(p.Steps) > 0 {
		steps := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range p.Steps {
			steps.Content = append(steps.Content, p.Steps[i].node())
		}
		put(root, "steps", steps)
	}
	if p.Sink != nil {
		put(root, "sink", p.Sink.node())
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write job: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("write job: %w", err)
	}
	again, err := LoadJob(b.Bytes(), nil)
	if err != nil || !again.Equal(p.without(false)) {
		return nil, usage(p.Source.Pos, "the pipeline cannot be written as a job file without changing it")
	}
	return b.Bytes(), nil
}

func (s *Source) node() *yaml.Node {
	literal := 0
	for _, x := range s.Paths {
		if x.Literal {
			literal++
		}
	}
	mixed := literal > 0 && literal < len(s.Paths)
	var paths *yaml.Node
	if len(s.Paths) == 1 {
		paths = textNode(s.Paths[0].Text)
	} else {
		paths = &yaml.Node{Kind: yaml.SequenceNode}
		for _, x := range s.Paths {
			n := textNode(x.Text)
			if mixed && x.Literal {
				n = mappingNode()
				n.Style = yaml.FlowStyle
				put(n, "path", textNode(x.Text))
				put(n, "literal", scalarNode("true"))
			}
			paths.Content = append(paths.Content, n)
		}
	}
	if s.From == "" && len(s.Params) == 0 && (literal == 0 || mixed) {
		return paths
	}
	m := mappingNode()
	put(m, "path", paths)
	if literal > 0 && !mixed {
		put(m, "literal", scalarNode("true"))
	}
	if s.From != "" {
		put(m, "from", textNode(s.From))
	}
	putParams(m, s.Params)
	return m
}

func (s *Sink) node() *yaml.Node {
	if !s.Literal && s.To == "" && len(s.Params) == 0 {
		return textNode(s.Path)
	}
	m := mappingNode()
	put(m, "path", textNode(s.Path))
	if s.Literal {
		put(m, "literal", scalarNode("true"))
	}
	if s.To != "" {
		put(m, "to", textNode(s.To))
	}
	putParams(m, s.Params)
	return m
}

func (s *Step) node() *yaml.Node {
	switch {
	case s.Params != nil:
		args, m := mappingNode(), mappingNode()
		putParams(args, s.Params)
		put(m, s.Name, args)
		return m
	case s.Args == "":
		return textNode(s.Name)
	}
	m := mappingNode()
	put(m, s.Name, textNode(s.Args))
	return m
}

func mappingNode() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func put(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

func putParams(m *yaml.Node, params map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(params)) {
		put(m, k, valueNode(params[k]))
	}
}

// valueNode writes a value of an option.
func valueNode(v any) *yaml.Node {
	switch x := v.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, it := range x {
			n.Content = append(n.Content, valueNode(it))
		}
		return n
	case map[string]any:
		n := mappingNode()
		putParams(n, x)
		return n
	}
	return textNode(fmt.Sprint(v))
}

// textNode writes text so that it is read as typed, placeholders included. What YAML takes for a number or a truth value is read as text
// anyway and needs no quotes.
func textNode(s string) *yaml.Node {
	s = escapePlaceholders(s)
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: s}
	if n.ShortTag() == "!!int" || n.ShortTag() == "!!float" || n.ShortTag() == "!!bool" {
		return n
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

func scalarNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }

// escapePlaceholders doubles the braces of what would be read as a placeholder.
func escapePlaceholders(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		if name, ok := placeholder(s); ok {
			b.WriteString("{{" + name + "}}")
			s = s[len(name)+2:]
			continue
		}
		b.WriteByte('{')
		s = s[1:]
	}
}
