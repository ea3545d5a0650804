package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-data/sluice/dataset"
)

const longHelp = `Sluice is a streaming multimodal data engine.

A pipeline is a source, steps and a sink, divided by |. Without a sink the rows are printed.

  sluice 'photos/**/*.{jpg,png} | decode | where width >= 256 | resize 224x224 | out.parquet'
  sluice 'events.jsonl | where score > 0.9 and lang == "de" | select id, text | -'
  sluice '- | limit 5' < events.jsonl

"sluice ops" lists the steps, readers and writers; "sluice ops NAME" explains one.`

// root makes the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "sluice [flags] 'SOURCE | STEP | … | SINK'",
		Short:         "A streaming multimodal data engine",
		Long:          longHelp,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return a.runPipeline(c.Context(), args)
		},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		near := ""
		if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
			near = nearFlag(c, name)
		}
		return dataset.Usagef("%w%s; see %s --help", err, near, c.CommandPath())
	})
	a.flags.register(root.PersistentFlags())
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if err := checkImages(a.flags.see.images); err != nil {
			return err
		}
		return a.openEvents()
	}
	root.Flags().SortFlags = false
	root.AddCommand(a.runCommand(), a.explainCommand(), a.opsCommand(), a.versionCommand(),
		a.runsCommand(), a.resumeCommand(), a.cleanCommand(), a.errorsCommand(), a.retryCommand(), a.inspectCommand(),
		a.fmtCommand(), a.lintCommand(), a.diffCommand(), a.completionCommand(), a.wordsCommand())
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(a.lookCommands()...)
	return root
}

// nearFlag suggests the flag that was probably meant.
func nearFlag(c *cobra.Command, name string) string {
	name, _, _ = strings.Cut(name, "=")
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return strings.Replace(dataset.DidYouMean(name, names), "\"", "\"--", 1)
}

// exactly refuses other numbers of arguments as a mistake of usage.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return dataset.Usagef("%s takes %s; it got %d arguments", c.CommandPath(), what, len(args))
		}
		return nil
	}
}

func (a *app) runCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run JOB.yaml",
		Short: "Run a job file",
		Long: `Run a job file: the same pipeline as YAML.

  version: 1
  source: photos/**/*.jpg          # or a list, or {path: …, from: …, option: value}
  steps:
    - decode
    - where: width >= 256
    - resize: {size: 224x224}
  sink: {path: "{out}/", to: parquet}

Placeholders {name} in it get their values by --set name=value.`,
		Args: exactly(1, "one job file"),
		RunE: func(c *cobra.Command, args []string) error { return a.runJob(c.Context(), args[0]) },
	}
}

func (a *app) explainCommand() *cobra.Command {
	var how explainFlags
	c := &cobra.Command{
		Use:   "explain 'PIPELINE' | JOB.yaml",
		Short: "Show what a pipeline or job would do; with --analyze run it and show what it did",
		Long: `Show the plan: the steps as written, what was pushed down and joined, and the stages that they become, with what each holds in memory.

With --analyze the pipeline runs, and its result goes where it says; the numbers that were measured stand beside the plan: rows, waits, memory, and CPU time
by step from a profile. Rows that would go to standard output are counted and dropped.`,
		Args: exactly(1, "one pipeline in quotes, or a job file"),
		RunE: func(c *cobra.Command, args []string) error { return a.explain(c.Context(), args[0], how) },
	}
	c.Flags().BoolVar(&how.analyze, "analyze", false, "run it, and show what was measured beside the plan")
	c.Flags().BoolVar(&how.mermaid, "mermaid", false, "draw the plan in the language of Mermaid")
	return c
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version and the decoders that are used",
		Args:  exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			lines := [][]string{{"sluice", a.Version}, {"go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}}
			if a.Backends != nil {
				for _, b := range a.Backends() {
					lines = append(lines, []string{b.Name, b.Uses})
				}
			}
			_, err := fmt.Fprint(a.Stdout, aligned(lines, ""))
			return err
		},
	}
}

// protectStdin keeps a pipeline that starts with standard input ("- | limit 5") from being taken for a flag.
func protectStdin(args []string) []string {
	out := make([]string, len(args))
	for i, s := range args {
		if s == "--" {
			copy(out[i:], args[i:])
			break
		}
		if len(s) > 1 && s[0] == '-' && strings.IndexByte(" \t\n|", s[1]) >= 0 {
			s = " " + s
		}
		out[i] = s
	}
	return out
}

// isJob says whether the argument of explain is a job file.
func isJob(arg string) bool {
	ext := strings.ToLower(filepath.Ext(arg))
	return (ext == ".yaml" || ext == ".yml") && !strings.Contains(arg, "|")
}

// readJob reads a job file whole; LoadJob refuses those that are too long.
func readJob(name string) ([]byte, error) {
	data, err := os.ReadFile(name) //nolint:gosec // the file that the user named
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return nil, dataset.Usagef("read job %s: %w", name, pe.Err)
	}
	return data, err
}
