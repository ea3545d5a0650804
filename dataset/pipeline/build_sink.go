package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// Writers that are chosen when the path does not say.
const (
	stdoutWriter = "jsonl"
	folderWriter = "parquet"
)

// sink opens the sink with the writer that its path asks for.
func (e Env) sink(s *Sink, b *Built) (dataset.Sink, error) {
	def, err := e.writer(s)
	if err != nil {
		return nil, err
	}
	b.Writer = def.Name
	params, err := fill(def.Name, def.Zero, s.Options, s.Params, s.places, s.Pos)
	if err != nil {
		return nil, err
	}
	target := s.Path
	if s.Literal && target == "-" {
		target = "./-"
	}
	out, err := def.Open(target, params)
	if err != nil {
		return nil, openError(s.Pos, err)
	}
	return out, nil
}

// Stdout makes the sink that prints rows to standard output as JSON lines.
func (e Env) Stdout() (dataset.Sink, error) {
	return e.sink(&Sink{Path: "-"}, &Built{})
}

func (e Env) writer(s *Sink) (dataset.SinkDef, error) {
	for _, name := range []string{e.To, s.To} {
		if name != "" {
			def, err := e.writerNamed(name)
			if err != nil {
				err = &Error{s.Pos, err}
			}
			return def, err
		}
	}
	if s.Path == "-" && !s.Literal {
		return e.builtin(stdoutWriter, s)
	}
	if scheme, _, ok := strings.Cut(s.Path, ":"); ok && ValidName(scheme) {
		if def, err := e.Registry.Sink(scheme); err == nil {
			return def, nil
		}
	}
	if strings.HasSuffix(s.Path, "/") {
		return e.builtin(folderWriter, s)
	}
	ext := extension(s.Path)
	if def, ok := e.writerOf(ext); ok {
		return def, nil
	}
	what := "has no extension"
	switch {
	case ext != "" && len(e.byExtension(ext)) > 0:
		what = fmt.Sprintf("has the extension .%s, which is read but not written", ext)
	case ext != "":
		what = "has the unknown extension ." + ext
	}
	return dataset.SinkDef{}, usage(s.Pos, "%s %s; name its writer with --to (%s)", s.Path, what, e.writerNames())
}

func (e Env) builtin(name string, s *Sink) (dataset.SinkDef, error) {
	def, err := e.writerNamed(name)
	if err != nil {
		err = &Error{s.Pos, err}
	}
	return def, err
}

// writerNamed finds a sink by its name, or else by an extension.
func (e Env) writerNamed(name string) (dataset.SinkDef, error) {
	def, err := e.Registry.Sink(name)
	if err == nil {
		return def, nil
	}
	if def, ok := e.writerOf(strings.ToLower(name)); ok {
		return def, nil
	}
	return def, fmt.Errorf("%w; writers are %s", err, e.writerNames())
}

func (e Env) writerOf(ext string) (dataset.SinkDef, bool) {
	if ext == "" {
		return dataset.SinkDef{}, false
	}
	for _, d := range e.Registry.Sinks() {
		if slices.Contains(d.Extensions, ext) {
			return d, true
		}
	}
	return dataset.SinkDef{}, false
}

func (e Env) writerNames() string {
	var names []string
	for _, d := range e.Registry.Sinks() {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}
