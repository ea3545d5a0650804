package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sluice-data/sluice/dataset"
)

// JobVersion is the version of the job file schema that this code reads.
const JobVersion = 1

// maxJob is the largest job file that is read.
const maxJob = 1 << 20

// LoadJob reads a job file: YAML with the keys version, source, steps and sink, as docs describe it. set gives the values of placeholders
// {name} in its texts. Mistakes are *Error with the line.
//
//	version: 1
//	source: photos/**/*.jpg            # or a list, or {path: …, from: …, literal: true, option: value}
//	steps:
//	  - decode                         # or: decode:
//	  - where: width >= 256            # the text after the name, as in a pipeline string
//	  - select: [a, b]                 # a list: its items divided by commas
//	  - resize: {size: 224x224}        # named values
//	sink: {path: out/, to: parquet}
func LoadJob(data []byte, set map[string]string) (*Pipeline, error) {
	if len(data) > maxJob {
		return nil, usage(Pos{Line: 1}, "the job file has %d bytes, at most %d are read", len(data), maxJob)
	}
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	l := loader{set: set, used: map[string]bool{}}
	m, err := l.mapping(root, "the job", []string{"version", "source", "steps", "sink"})
	if err != nil {
		return nil, err
	}
	if err := l.version(root, m["version"]); err != nil {
		return nil, err
	}
	p := &Pipeline{}
	if m["source"] == nil {
		return nil, usage(at(root), "the job has no source")
	}
	if err := l.source(p, m["source"]); err != nil {
		return nil, err
	}
	if err := l.steps(p, m["steps"]); err != nil {
		return nil, err
	}
	if n := m["sink"]; n != nil && !isNull(n) {
		if err := l.sink(p, n); err != nil {
			return nil, err
		}
	}
	return p, l.unused()
}

// yamlLine finds the line in messages of the YAML parser.
var yamlLine = regexp.MustCompile(`line (\d+): `)

func parseYAML(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, usage(Pos{Line: 1}, "the job file is empty; it needs version, source, steps and sink")
		}
		pos, msg := Pos{Line: 1}, strings.TrimPrefix(err.Error(), "yaml: ")
		if strings.Contains(msg, "block sequence entries are not allowed") {
			msg += "; put quotes around a lone -"
		}
		if m := yamlLine.FindStringSubmatch(msg); m != nil {
			pos.Line, _ = strconv.Atoi(m[1]) // the pattern holds digits only
			msg = strings.Replace(msg, m[0], "", 1)
		}
		return nil, usage(pos, "%s", msg)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, usage(Pos{Line: max(1, more.Line)}, "a job file holds one document")
	}
	if len(doc.Content) != 1 {
		return nil, usage(Pos{Line: 1}, "the job file is empty; it needs version, source, steps and sink")
	}
	return doc.Content[0], nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// loader carries the placeholders through one job file.
type loader struct {
	set  map[string]string
	used map[string]bool
}

// unused refuses values for placeholders that the job does not have: most likely they are mistyped.
func (l *loader) unused() error {
	for name := range l.set {
		if !l.used[name] {
			known := make([]string, 0, len(l.used))
			for k := range l.used {
				known = append(known, k)
			}
			return dataset.Usagef("--set %s: the job has no placeholder {%s}%s", name, name, dataset.DidYouMean(name, known))
		}
	}
	return nil
}

// mapping returns the values of a mapping by key. Keys that are not known are errors, unless known is nil.
func (l *loader) mapping(n *yaml.Node, what string, known []string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, usage(at(n), "%s is %s, want a mapping", what, kindName(n))
	}
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
			return nil, usage(at(k), "a key of %s is %s, want text", what, kindName(k))
		}
		if known != nil && !slices.Contains(known, k.Value) {
			near := dataset.DidYouMean(k.Value, slices.Clone(known))
			if near == "" {
				near = "; there are " + strings.Join(known, ", ")
			}
			return nil, usage(at(k), "unknown key %q of %s%s", k.Value, what, near)
		}
		if out[k.Value] != nil {
			return nil, usage(at(k), "the key %q is given twice", k.Value)
		}
		out[k.Value] = v
	}
	return out, nil
}

func (l *loader) version(root, n *yaml.Node) error {
	if n == nil {
		return usage(at(root), "the job has no version; add version: %d", JobVersion)
	}
	if n.Kind != yaml.ScalarNode || n.Value != strconv.Itoa(JobVersion) {
		return usage(at(n), "the job has version %s; this program reads version %d", n.Value, JobVersion)
	}
	return nil
}

func (l *loader) source(p *Pipeline, n *yaml.Node) error {
	p.Source.Pos = at(n)
	paths, literal := n, false
	if n.Kind == yaml.MappingNode && (flowPlaceholder(n) == "" || n.Content[0].Value == "path") {
		m, err := l.mapping(n, "source", nil)
		if err != nil {
			return err
		}
		if paths = m["path"]; paths == nil {
			return usage(at(n), "the source has no path")
		}
		if literal, err = l.flag(m["literal"], "literal"); err != nil {
			return err
		}
		if p.Source.From, err = l.word(m["from"], "from"); err != nil {
			return err
		}
		p.Source.places = placesOf(n)
		if p.Source.Params, err = l.params(m, "path", "literal", "from"); err != nil {
			return err
		}
	}
	list := []*yaml.Node{paths}
	if paths.Kind == yaml.SequenceNode {
		list = paths.Content
	}
	if len(list) == 0 {
		return usage(at(paths), "the list of paths is empty")
	}
	for _, x := range list {
		text, own, err := l.path(x)
		if err != nil {
			return err
		}
		if text == "" {
			return usage(at(x), "the path is empty")
		}
		p.addPath(Path{Text: text, Literal: literal || own, Pos: at(x)})
	}
	return nil
}

// path reads one path of a list: text, or {path: …, literal: true}.
func (l *loader) path(n *yaml.Node) (text string, literal bool, err error) {
	if n.Kind != yaml.MappingNode || flowPlaceholder(n) != "" && n.Content[0].Value != "path" {
		text, err = l.word(n, "a path")
		return text, false, err
	}
	m, err := l.mapping(n, "a path", []string{"path", "literal"})
	if err != nil {
		return "", false, err
	}
	if literal, err = l.flag(m["literal"], "literal"); err != nil {
		return "", false, err
	}
	text, err = l.word(m["path"], "a path")
	return text, literal, err
}

func (l *loader) sink(p *Pipeline, n *yaml.Node) error {
	s := &Sink{Pos: at(n)}
	var err error
	if n.Kind != yaml.MappingNode {
		s.Path, err = l.word(n, "sink")
	} else {
		var m map[string]*yaml.Node
		if m, err = l.mapping(n, "sink", nil); err != nil {
			return err
		}
		if m["path"] == nil {
			return usage(at(n), "the sink has no path")
		}
		if s.Path, err = l.word(m["path"], "path"); err != nil {
			return err
		}
		if s.Literal, err = l.flag(m["literal"], "literal"); err != nil {
			return err
		}
		if s.To, err = l.word(m["to"], "to"); err != nil {
			return err
		}
		s.places = placesOf(n)
		s.Params, err = l.params(m, "path", "literal", "to")
	}
	if err == nil && s.Path == "" {
		err = usage(at(n), "the path to write to is empty")
	}
	p.Sink = s
	return err
}

func (l *loader) steps(p *Pipeline, n *yaml.Node) error {
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return usage(at(n), "steps is %s, want a list", kindName(n))
	}
	for _, x := range n.Content {
		s, err := l.step(x)
		if err != nil {
			return err
		}
		p.Steps = append(p.Steps, s)
	}
	return nil
}

func (l *loader) step(n *yaml.Node) (Step, error) {
	s := Step{Pos: at(n), ArgsPos: at(n)}
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		s.Name = n.Value
		if name, rest, ok := strings.Cut(strings.TrimSpace(n.Value), " "); ok {
			return s, usage(s.Pos, "write the step as a mapping: - %s: %s", name, strings.TrimSpace(rest))
		}
		return s, nil
	}
	m, err := l.mapping(n, "a step", nil)
	if err != nil {
		return s, err
	}
	if len(m) != 1 {
		return s, usage(s.Pos, "a step has %d keys, want one: the name of the step, with its arguments below", len(m))
	}
	s.Name = n.Content[0].Value
	return s, l.args(&s, n.Content[1])
}

// args reads what is below the name of a step.
func (l *loader) args(s *Step, n *yaml.Node) (err error) {
	s.ArgsPos = at(n)
	switch {
	case isNull(n):
		return nil
	case n.Kind == yaml.MappingNode:
		m, err := l.mapping(n, "the step "+s.Name, nil)
		if err != nil {
			return err
		}
		s.places = placesOf(n)
		s.Params, err = l.params(m)
		return err
	case n.Kind == yaml.SequenceNode:
		s.Args, err = l.items(n)
		return err
	}
	text, err := l.word(n, s.Name)
	s.Args = strings.TrimSpace(text)
	s.ArgsPos = inside(n, text).plus(strings.Index(text, s.Args))
	return err
}

// items writes a list as the text that a pipeline string has: items divided by commas, quoted where one holds a comma itself.
func (l *loader) items(n *yaml.Node) (string, error) {
	out := make([]string, len(n.Content))
	for i, x := range n.Content {
		text, err := l.word(x, fmt.Sprintf("item %d", i+1))
		if err != nil {
			return "", err
		}
		if one, err := dataset.Items(text); err != nil || len(one) != 1 {
			text = dataset.Quote(text)
		}
		out[i] = text
	}
	return strings.Join(out, ", "), nil
}
