package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
)

func (a *app) opsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ops [NAME]",
		Short: "List the steps, readers and writers, or explain one",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return dataset.Usagef("%s takes at most one name", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			reg, done, err := a.registry(c)
			if err != nil {
				return err
			}
			defer done()
			text := listOps(reg)
			if len(args) == 1 {
				if text, err = describeOp(reg, args[0]); err != nil {
					return err
				}
			}
			_, err = fmt.Fprint(a.Stdout, text)
			return err
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			reg, done, err := a.registry(c)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			defer done()
			var out []string
			for _, d := range entries(reg) {
				out = append(out, d.name+"\t"+d.doc)
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// registry opens a session for its names only.
func (a *app) registry(c *cobra.Command) (*dataset.Registry, func(), error) {
	s, err := a.Open(c.Context(), Settings{MemoryBytes: a.DefaultMemory()})
	if err != nil {
		return nil, nil, err
	}
	return s.Registry(), func() { _ = s.Close() }, nil
}

// entry is a step, reader or writer, for help.
type entry struct {
	kind, name, doc, help, example string
	extensions                     []string
	params                         any
	ownSyntax                      bool // its text is read by code of its own
}

// Kinds of entries, in the order of the list.
const (
	kindStep   = "step"
	kindReader = "reader"
	kindWriter = "writer"
)

func entries(reg *dataset.Registry) []entry {
	var out []entry
	for _, d := range reg.Operators() {
		out = append(out, entry{kindStep, d.Name, d.Doc, d.Help, d.Example, nil, zeroOf(d.Zero), d.Parse != nil})
	}
	for _, d := range reg.Sources() {
		out = append(out, entry{kindReader, d.Name, d.Doc, d.Help, "", d.Extensions, zeroOf(d.Zero), false})
	}
	for _, d := range reg.Sinks() {
		out = append(out, entry{kindWriter, d.Name, d.Doc, d.Help, "", d.Extensions, zeroOf(d.Zero), false})
	}
	return out
}

// listOps is the text of `sluice ops`.
func listOps(reg *dataset.Registry) string {
	var b strings.Builder
	all := entries(reg)
	for _, kind := range []string{kindStep, kindReader, kindWriter} {
		var lines [][]string
		for _, e := range all {
			if e.kind != kind {
				continue
			}
			doc := e.doc
			if len(e.extensions) > 0 {
				doc = strings.TrimSpace(doc + " (." + strings.Join(e.extensions, ", .") + ")")
			}
			lines = append(lines, []string{e.name, doc})
		}
		if len(lines) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%ss\n%s", strings.ToUpper(kind[:1])+kind[1:], aligned(lines, "  "))
	}
	return b.String()
}

// describeOp is the text of `sluice ops NAME`. A name may be a reader and a writer.
func describeOp(reg *dataset.Registry, name string) (string, error) {
	var texts, names []string
	for _, e := range entries(reg) {
		names = append(names, e.name)
		if e.name == name {
			texts = append(texts, e.text())
		}
	}
	if len(texts) == 0 {
		return "", dataset.Usagef("there is no step, reader or writer %q%s; sluice ops lists them", name, dataset.DidYouMean(name, names))
	}
	return strings.Join(texts, "\n"), nil
}

// text explains one entry.
func (e entry) text() string {
	var b strings.Builder
	title := e.name
	if e.kind == kindStep && !e.ownSyntax {
		title = dataset.UsageLine(e.name, e.params)
	}
	fmt.Fprintf(&b, "%s (%s)\n", title, e.kind)
	for _, part := range []string{e.doc, e.help} {
		if part = strings.TrimSpace(part); part != "" {
			fmt.Fprintf(&b, "\n%s\n", wrap(part, helpWidth))
		}
	}
	if len(e.extensions) > 0 {
		fmt.Fprintf(&b, "\nExtensions: .%s\n", strings.Join(e.extensions, ", ."))
	}
	var lines [][]string
	for _, p := range dataset.DescribeParams(e.params) {
		doc := p.Doc
		if p.Default != "" {
			doc = strings.TrimSpace(doc + " (default " + p.Default + ")")
		}
		lines = append(lines, []string{p.Name, p.Type, doc})
	}
	if len(lines) > 0 {
		head := "Options, as name=value:"
		if e.kind == kindStep {
			head = "Parameters:"
		}
		fmt.Fprintf(&b, "\n%s\n%s", head, aligned(lines, "  "))
	}
	if e.example != "" {
		fmt.Fprintf(&b, "\nExample:\n  %s\n", e.example)
	}
	return b.String()
}
