package cli

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
)

var (
	//go:embed completion/sluice.bash
	bashCompletion string
	//go:embed completion/sluice.zsh
	zshCompletion string
	//go:embed completion/sluice.fish
	fishCompletion string
)

// completionScripts are the scripts by shell; each asks the hidden command __words.
var completionScripts = map[string]*string{"bash": &bashCompletion, "zsh": &zshCompletion, "fish": &fishCompletion}

func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print the completion script of a shell",
		Long: `Print a script that completes sluice on the command line: commands, flags, and within a pipeline in quotes files, steps, their
options, and the columns that the rows have at that point, which are read from the actual source.

  source <(sluice completion bash)                                          # in ~/.bashrc
  source <(sluice completion zsh)                                           # in ~/.zshrc, after compinit
  sluice completion fish > ~/.config/fish/completions/sluice.fish`,
		Args:      exactly(1, "the name of a shell: bash, zsh or fish"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(_ *cobra.Command, args []string) error {
			script := completionScripts[args[0]]
			if script == nil {
				return dataset.Usagef("completion: there is no script for %q%s; there are bash, zsh and fish", args[0],
					dataset.DidYouMean(args[0], []string{"bash", "zsh", "fish"}))
			}
			_, err := fmt.Fprint(a.Stdout, *script)
			return err
		},
	}
}

// wordsCommand answers the scripts: SHELL TYPE LINE WORD…, where LINE is the command line up to the cursor and the last word is the one that is
// being typed, with the quote that it begins with.
func (a *app) wordsCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "__words",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) < 3 {
				return dataset.Usagef("__words is for completion scripts")
			}
			all := a.complete(c, args[2], args[3:])
			_, err := fmt.Fprint(a.Stdout, candidateLines(args[0], args[1], all))
			return err
		},
	}
}

// candidate is one way to go on.
type candidate struct {
	word  string // the whole word that is being typed, without its opening quote
	short string // the part of it that is new, to be shown
	doc   string
}

// listing is the type of completion in which bash only shows what there is.
const listing = "63"

// candidateLines writes candidates as each shell takes them.
func candidateLines(shell, kind string, all []candidate) string {
	var b strings.Builder
	for _, c := range all {
		doc := clipRunes(firstLine(c.doc), widestColumn)
		switch {
		case shell == "fish":
			fmt.Fprintf(&b, "%s\t%s\n", c.word, doc)
		case shell == "zsh":
			fmt.Fprintf(&b, "%s\t%s\n", c.word, described(c.short, doc))
		case kind == listing && len(all) > 1:
			b.WriteString(described(c.short, doc) + "\n")
		default:
			b.WriteString(c.word + "\n")
		}
	}
	return b.String()
}

func described(name, doc string) string {
	if doc == "" {
		return name
	}
	return name + "  (" + doc + ")"
}

// complete finds candidates for the last word. A word in quotes, or one that has a | in it, is a pipeline.
func (a *app) complete(c *cobra.Command, line string, words []string) []candidate {
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	if i := strings.LastIndex(line, last); last != "" && i >= 0 && i+len(last) < len(line) {
		return nil // the cursor is not at the end of the word
	}
	text, quote := last, ""
	if last != "" && (last[0] == '\'' || last[0] == '"') {
		quote, text = last[:1], last[1:]
		if strings.HasSuffix(text, quote) {
			return nil // it is closed
		}
	}
	if quote != "" {
		return a.completePipeline(c.Context(), text)
	}
	return a.completeWord(c, words, text)
}

// completeWord asks the command tree about words that are no pipeline. Without an answer the shell completes file names.
func (a *app) completeWord(c *cobra.Command, words []string, text string) []candidate {
	var out bytes.Buffer
	again := &app{Program: a.Program}
	root := again.root()
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	args := append([]string{cobra.ShellCompRequestCmd}, words...)
	if len(words) == 0 {
		args = append(args, "")
	}
	root.SetArgs(args)
	if err := root.ExecuteContext(c.Context()); err != nil {
		return nil
	}
	var all []candidate
	for line := range strings.Lines(out.String()) {
		name, doc, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(name, ":") || !strings.HasPrefix(name, text) {
			continue
		}
		all = append(all, candidate{name, name, doc})
	}
	return all
}
