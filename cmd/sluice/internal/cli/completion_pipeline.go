package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// Bounds of what completion may do while a person waits.
const (
	completionTime = time.Second
	mostFilesTold  = 200
)

// completePipeline finds candidates for the end of a pipeline that is being typed.
func (a *app) completePipeline(ctx context.Context, text string) []candidate {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	found := make(chan []candidate, 1)
	go func() {
		// A source that does not answer in time is left behind: the process ends with the answer.
		found <- a.inPipeline(ctx, text)
	}()
	select {
	case all := <-found:
		return all
	case <-ctx.Done():
		return nil
	}
}

func (a *app) inPipeline(ctx context.Context, text string) []candidate {
	s, err := a.Open(ctx, Settings{MemoryBytes: a.DefaultMemory()})
	if err != nil {
		return nil
	}
	defer func() { _ = s.Close() }()
	p := &typed{session: s, reg: s.Registry(), from: a.flags.from}
	at, open := lastStep(text)
	if open {
		return nil // text in quotes is the person's own
	}
	p.before, p.part = text[:at], text[at:]
	lead := len(p.part) - len(strings.TrimLeft(p.part, " \t\n"))
	p.before, p.part = p.before+p.part[:lead], p.part[lead:]
	p.token = tokenStart(p.part)
	if strings.TrimSpace(p.before) == "" {
		return p.source(ctx)
	}
	return p.step(ctx)
}

// typed is a pipeline up to the cursor: what comes before the part that is being typed, the part, and where in it the last token begins.
type typed struct {
	session      Session
	reg          *dataset.Registry
	from         string
	before, part string
	token        int
}

// lastStep finds the byte after the last | that divides steps, and whether a quote is open at the end. Brackets may be open.
func lastStep(text string) (at int, open bool) {
	quote, depth := byte(0), 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`' || c == '\'':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(0, depth-1)
		case c == '|' && i+1 < len(text) && text[i+1] == '|':
			i++
		case c == '|' && depth == 0:
			at = i + 1
		}
	}
	return at, quote != 0
}

// tokenStart finds where the last name or path of a part begins.
func tokenStart(part string) int {
	return strings.LastIndexAny(part, " \t\n,()[]=<>!+*/%&|?:\"'`") + 1
}

// put makes a candidate that replaces the part from byte at on.
func (p *typed) put(at int, word, doc string) candidate {
	return candidate{p.before + p.part[:at] + word, word, doc}
}

// with lists the names that begin as the text at byte at does.
func (p *typed) with(at int, out []candidate, name, doc string) []candidate {
	if !strings.HasPrefix(name, p.part[at:]) {
		return out
	}
	return append(out, p.put(at, name, doc))
}

// source completes paths, and behind the last one the options of its reader.
func (p *typed) source(context.Context) []candidate {
	word := strings.LastIndexAny(p.part, " \t\n") + 1
	head := strings.TrimSpace(p.part[:word])
	if head == "" || strings.HasSuffix(head, "+") {
		return p.paths(word)
	}
	parsed, err := pipeline.Parse(head, pipeline.NamesOf(p.reg))
	if err != nil {
		return nil
	}
	for _, d := range p.reg.Sources() {
		ext := pipeline.Extension(parsed.Source.Paths[0].Text)
		if d.Name == parsed.Source.From || parsed.Source.From == "" && slices.Contains(d.Extensions, ext) {
			return p.options(word, nil, zeroOf(d.Zero), dataset.ArgsUsed(head))
		}
	}
	return nil
}

// paths lists the files that begin as the word does.
func (p *typed) paths(at int) []candidate {
	dir, base := filepath.Split(p.part[at:])
	if strings.ContainsAny(dir, "*?[{") {
		return nil
	}
	entries, err := os.ReadDir(filepath.Clean("./" + dir))
	if filepath.IsAbs(dir) {
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		return nil
	}
	var out []candidate
	for _, e := range entries {
		name := e.Name()
		hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".")
		if !strings.HasPrefix(name, base) || hidden || len(out) == mostFilesTold || strings.ContainsAny(name, " \"'`|\n") {
			continue
		}
		if e.IsDir() {
			name += "/"
		}
		out = append(out, p.put(at, dir+name, ""))
		out[len(out)-1].short = name
	}
	return out
}

// step completes the name of a step, and behind it columns, functions and options; or a path to write to.
func (p *typed) step(ctx context.Context) []candidate {
	end := strings.IndexAny(p.part, " \t\n")
	if end < 0 {
		if strings.ContainsAny(p.part, "/.") {
			return p.paths(0)
		}
		var out []candidate
		for _, d := range p.reg.Operators() {
			out = p.with(0, out, d.Name, d.Doc)
		}
		return out
	}
	name := p.part[:end]
	def, err := p.reg.Operator(name)
	if err != nil {
		return p.sinkOptions(name)
	}
	var out []candidate
	if schema := p.schema(ctx); schema != nil {
		for _, f := range schema.Fields() {
			if plainName(f.Name) {
				out = p.with(p.token, out, f.Name, typeText(f.Type))
			}
		}
	}
	if takesExpression(def) && p.token < len(p.part) {
		for _, f := range expr.Functions() {
			call, _, _ := strings.Cut(f.Signature, "(")
			out = p.with(p.token, out, call+"(", f.Doc)
		}
	}
	word := strings.LastIndexAny(p.part, " \t\n") + 1
	if word == p.token && def.Parse == nil {
		out = p.options(word, out, zeroOf(def.Zero), dataset.ArgsUsed(p.part[end:]))
	}
	return out
}

func plainName(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t\n\"'`|,()[]{}=") && printable(s) == s
}

// takesExpression says whether the text of a step holds an expression.
func takesExpression(def dataset.Def) bool {
	if def.Parse != nil {
		return true
	}
	for _, d := range dataset.DescribeParams(zeroOf(def.Zero)) {
		if d.Arg == "rest" {
			return true
		}
	}
	return false
}

// sinkOptions completes the options of a path to write to.
func (p *typed) sinkOptions(path string) []candidate {
	word := strings.LastIndexAny(p.part, " \t\n") + 1
	for _, d := range p.reg.Sinks() {
		if slices.Contains(d.Extensions, pipeline.Extension(path)) || strings.HasSuffix(path, "/") && d.Name == "parquet" {
			return p.options(word, nil, zeroOf(d.Zero), dataset.ArgsUsed(p.part))
		}
	}
	return nil
}

// options lists the named parameters that were not given yet.
func (p *typed) options(at int, out []candidate, zero any, used map[string]bool) []candidate {
	for _, d := range dataset.DescribeParams(zero) {
		if d.Arg == "" && !used[d.Name] {
			out = p.with(at, out, d.Name+"=", d.Doc)
		}
	}
	return out
}

// schema is that of the rows which the part being typed gets.
func (p *typed) schema(ctx context.Context) *arrow.Schema {
	text := strings.TrimRight(p.before, " \t\n")
	text = strings.TrimSuffix(text, "|")
	parsed, err := pipeline.Parse(text, pipeline.NamesOf(p.reg))
	if err != nil || parsed.Sink != nil {
		return nil
	}
	for _, x := range parsed.Source.Paths {
		if x.Text == "-" && !x.Literal {
			return nil // what is typed is no data
		}
	}
	built, err := pipeline.Env{Registry: p.reg, Runner: p.session.Runner(), From: p.from}.Build(ctx, parsed)
	if err != nil {
		return nil
	}
	schema, err := built.Dataset.Schema(ctx)
	if err != nil {
		return nil
	}
	return schema
}

func zeroOf(f func() any) any {
	if f == nil {
		return nil
	}
	return f()
}
