package sluice_test

import (
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

var updateDocs = flag.Bool("update-docs", false, "write the generated pages of docs/ anew")

// TestGeneratedDocs fails when the pages that are made from the registry differ from it. To write them anew:
//
//	go test . -run TestGeneratedDocs -update-docs
func TestGeneratedDocs(t *testing.T) {
	for name, text := range map[string]string{
		"docs/operators.md":     operatorsPage(open(t).Registry()),
		"docs/expressions.md":   functionsPage(t),
		"docs/cli-reference.md": commandsPage(t),
	} {
		if *updateDocs {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil { //nolint:gosec // a page of the repository
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != text {
			t.Errorf("%s does not say what the program does (%v): go test . -run TestGeneratedDocs -update-docs", name, err)
		}
	}
}

// operatorsPage describes every step, reader and writer.
func operatorsPage(reg *dataset.Registry) string {
	var b strings.Builder
	b.WriteString("# Steps, readers and writers\n\nThis page is made from the program; `sluice ops` and `sluice ops NAME` print the same.\n\n")
	b.WriteString("| step | |\n|---|---|\n")
	for _, d := range reg.Operators() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", d.Name, d.Name, d.Doc)
	}
	b.WriteString("\nReaders: ")
	var names []string
	for _, d := range reg.Sources() {
		names = append(names, fmt.Sprintf("[`%s`](#%s-reader)", d.Name, d.Name))
	}
	b.WriteString(strings.Join(names, ", ") + ". Writers: ")
	names = nil
	for _, d := range reg.Sinks() {
		names = append(names, fmt.Sprintf("[`%s`](#%s-writer)", d.Name, d.Name))
	}
	b.WriteString(strings.Join(names, ", ") + ".\n\n## Steps\n")
	for _, d := range reg.Operators() {
		usage := d.Example
		if d.Parse == nil {
			usage = dataset.UsageLine(d.Name, zero(d.Zero))
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n```\n%s\n```\n\n%s\n", d.Name, upper(d.Doc), usage, d.Help)
		params(&b, "Parameters", zero(d.Zero))
		if d.Example != "" && d.Parse == nil {
			fmt.Fprintf(&b, "\nFor example: `%s`\n", d.Example)
		}
	}
	b.WriteString("\n## Readers\n")
	for _, d := range reg.Sources() {
		entry(&b, d.Name, "reader", d.Doc, d.Help, d.Extensions, zero(d.Zero))
	}
	b.WriteString("\n## Writers\n")
	for _, d := range reg.Sinks() {
		entry(&b, d.Name, "writer", d.Doc, d.Help, d.Extensions, zero(d.Zero))
	}
	return b.String()
}

// commandsPage is the help of every command.
func commandsPage(t *testing.T) string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	help := func(args ...string) string {
		out, err := exec.Command(bin, append(args, "--help")...).Output() //nolint:gosec // the program that was just built
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	root := help()
	var b strings.Builder
	b.WriteString("# Commands and flags\n\nThis page is made from the program; `sluice COMMAND --help` prints the same. [The command line](cli.md) explains it.\n\n## sluice\n\n```\n" + root + "\n```\n")
	_, commands, _ := strings.Cut(root, "Available Commands:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	for line := range strings.Lines(commands) {
		name := strings.Fields(line)[0]
		if name == "help" {
			continue
		}
		own, _, _ := strings.Cut(help(name), "\n\nGlobal Flags:")
		fmt.Fprintf(&b, "\n## sluice %s\n\n```\n%s\n```\n", name, own)
	}
	return b.String()
}

func zero(f func() any) any {
	if f == nil {
		return nil
	}
	return f()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func entry(b *strings.Builder, name, kind, doc, help string, extensions []string, zero any) {
	fmt.Fprintf(b, "\n### %s %s\n\n%s.", name, kind, upper(doc))
	if len(extensions) > 0 {
		fmt.Fprintf(b, " Extensions: `.%s`.", strings.Join(extensions, "`, `."))
	}
	fmt.Fprintf(b, "\n\n%s\n", help)
	params(b, "Options, as `name=value`", zero)
}

func params(b *strings.Builder, title string, zero any) {
	all := dataset.DescribeParams(zero)
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n\n| name | type | default | |\n|---|---|---|---|\n", title)
	cell := strings.NewReplacer("|", "\\|", "\n", " ")
	for _, p := range all {
		value := ""
		if p.Default != "" {
			value = "`" + p.Default + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.Type, cell.Replace(value), cell.Replace(p.Doc))
	}
}

const functionsHead = "## Functions\n"

// functionsPage keeps what a person wrote of the expressions page and adds all functions.
func functionsPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(page), functionsHead)
	if !found {
		t.Fatalf("docs/expressions.md has no heading %q", functionsHead)
	}
	var b strings.Builder
	b.WriteString(head + functionsHead + "\nThis table is made from the program.\n\n| function | | example |\n|---|---|---|\n")
	cell := strings.NewReplacer("|", "\\|")
	for _, f := range expr.Functions() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", cell.Replace(f.Signature), cell.Replace(f.Doc), cell.Replace(f.Example))
	}
	return b.String()
}

// pages are all Markdown files of ours that people read.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
	for _, dir := range []string{"docs", "examples"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".md") {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

var (
	blocks = regexp.MustCompile("(?ms)^```.*?^```$")
	code   = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	head   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	typed  = regexp.MustCompile(`(?m)^\s*(?:\$ )?sluice (?:explain )?(?:--?[a-z-]+(?:[ =][\w./=-]+)? )*'([^']+)'`)
)

// anchor is what a heading is linked by.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestLinksOfDocs checks that links within the repository lead somewhere.
func TestLinksOfDocs(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), "code"), -1) {
			u, err := url.Parse(m[1])
			if err != nil || u.Scheme != "" {
				continue
			}
			to := page
			if u.Path != "" {
				to = filepath.Join(filepath.Dir(page), u.Path)
			}
			target, err := os.ReadFile(to)
			if st, serr := os.Stat(to); serr == nil && st.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if u.Fragment == "" {
				continue
			}
			var anchors []string
			for _, h := range head.FindAllStringSubmatch(blocks.ReplaceAllString(string(target), ""), -1) {
				anchors = append(anchors, anchor(h[1]))
			}
			if !slices.Contains(anchors, u.Fragment) {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

// TestPipelinesOfDocs checks that the command lines that pages show are pipelines whose steps take their arguments.
func TestPipelinesOfDocs(t *testing.T) {
	s := open(t)
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, m := range typed.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "…") { // a form, not a command
				continue
			}
			found++
			p, err := pipeline.Parse(m[1], pipeline.NamesOf(s.Registry()))
			if err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
				continue
			}
			ds := events(s)
			for _, step := range p.Steps {
				ds = ds.Step(step.Name, step.Args)
			}
			if err := ds.Plain().Err(); err != nil && !needsModel(err) {
				t.Errorf("%s: %s: %v", page, m[1], err)
			}
		}
	}
	if found < 18 {
		t.Errorf("only %d command lines were found: the search is broken", found)
	}
}

// needsModel says that a step is right and its model cannot run here.
func needsModel(err error) bool {
	for _, s := range []string{"built without ONNX", "make models", "there is no engine"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}
