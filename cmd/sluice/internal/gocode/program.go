package gocode

import (
	"bytes"
	"fmt"
	"go/format"
	"strconv"
	"strings"
	"text/template"

	"github.com/sluice-data/sluice/dataset/pipeline"
)

// program is the frame around the calls.
var program = template.Must(template.New("program").Parse(`// Command job runs the pipeline
//
//	{{.Comment}}
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/sluice-data/sluice"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

// run is the job. The report tells what was read, written and left out, also when the run fails.
func run(ctx context.Context) (err error) {
	s, err := sluice.Open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	report, err := {{range .Calls}}{{.}}.
		{{end}}Run(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "read %d rows, wrote %d rows in %s\n", report.RowsRead, report.RowsWritten, report.Wall)
	return nil
}
`))

// Program writes the program of a pipeline that Env.Canonical made; text is the pipeline string of it. A pipeline without a sink prints its
// rows as JSON lines.
func Program(p *pipeline.Pipeline, text string) ([]byte, error) {
	calls := []string{"s." + source(p.Source)}
	for _, s := range p.Steps {
		calls = append(calls, step(s.Name, s.Args))
	}
	calls = append(calls, sink(p.Sink))
	var b bytes.Buffer
	err := program.Execute(&b, struct {
		Comment string
		Calls   []string
	}{strings.ReplaceAll(strings.ReplaceAll(text, "\r", " "), "\n", "\n//\t"), calls})
	if err != nil {
		return nil, fmt.Errorf("write program: %w", err)
	}
	out, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("write program: %w", err)
	}
	return out, nil
}

// source is the call that reads.
func source(s pipeline.Source) string {
	var paths []string
	for _, p := range s.Paths {
		if p.Literal { // the methods that read take patterns
			one := pipeline.Pipeline{Source: s}
			return call("Pipeline", one.String())
		}
		paths = append(paths, p.Text)
	}
	if s.From == "" && len(s.Options) == 0 {
		return call("Read", paths...)
	}
	return "ReadWith(" + literal(s.From) + ", []string{" + literals(paths) + "}" + options(s.Options) + ")"
}

// sink is the call that writes.
func sink(s *pipeline.Sink) string {
	if s == nil {
		s = &pipeline.Sink{Path: "-"}
	}
	path := s.Path
	if s.Literal && path == "-" {
		path = "./-"
	}
	if s.To == "" {
		return "Write(" + literal(path) + options(s.Options) + ")"
	}
	return "WriteWith(" + literal(s.To) + ", " + literal(path) + options(s.Options) + ")"
}

func options(opts []pipeline.Option) string {
	var b strings.Builder
	for _, o := range opts {
		b.WriteString(", " + literal(o.Name+"="+o.Value))
	}
	return b.String()
}

// call is a call with texts for arguments.
func call(method string, args ...string) string { return method + "(" + literals(args) + ")" }

func literals(args []string) string {
	out := make([]string, len(args))
	for i, s := range args {
		out[i] = literal(s)
	}
	return strings.Join(out, ", ")
}

// literal writes text as Go does, in backquotes where that is easier to read.
func literal(s string) string {
	if strings.ContainsAny(s, `"\`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
