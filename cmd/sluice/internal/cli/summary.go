package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// summary says on standard error what a finished run did.
func (j *job) summary(r *dataset.Report, show *table) {
	if j.flags.quiet {
		return
	}
	if j.toStdout() {
		r.Targets = nil // the rows are there to be seen
	}
	r.Warnings = j.notTwice(r.Warnings)
	fmt.Fprint(j.Stderr, summaryText(r, show != nil))
	if j.showsStats(r) {
		fmt.Fprint(j.Stderr, statsText(r, statsWidth(j.Stderr)))
	}
	j.warnings()
}

// problems says what a run that ended with an error had met before; the error itself comes last.
func (j *job) problems(r *dataset.Report) {
	if j.flags.quiet {
		return
	}
	r.Warnings = j.notTwice(r.Warnings)
	text := noteText(r) + warningText(r)
	if j.settings.Options.OnError != dataset.OnErrorFail {
		text = noteText(r) + failureText(r) + warningText(r)
	}
	fmt.Fprint(j.Stderr, text)
	j.warnings()
}

// notTwice leaves out what the parser of the pipeline has found already.
func (j *job) notTwice(warnings []dataset.Warning) []dataset.Warning {
	if len(j.built.Warnings) == 0 {
		return warnings
	}
	return slices.DeleteFunc(warnings, func(w dataset.Warning) bool { return w.Class == file.OddPattern })
}

// warnings prints those about the pipeline itself.
func (j *job) warnings() {
	if j.flags.quiet {
		return
	}
	for _, w := range j.built.Warnings {
		fmt.Fprintf(j.Stderr, "warning: %s\n", printable(w))
	}
}

func summaryText(r *dataset.Report, printed bool) string {
	var b strings.Builder
	b.WriteString(noteText(r))
	if r.Complete {
		for _, t := range r.Targets {
			fmt.Fprintf(&b, "%s is already complete: nothing to do\n", t.Locator)
			b.WriteString(deadText(t))
		}
		if len(r.Targets) == 0 {
			b.WriteString("already complete: nothing to do\n")
		}
		return b.String()
	}
	fmt.Fprintf(&b, "read %s", rows(r.RowsRead))
	if r.BytesRead > 0 {
		fmt.Fprintf(&b, " (%s)", size(r.BytesRead))
	}
	verb := "wrote"
	if printed {
		verb = "showed"
	}
	fmt.Fprintf(&b, ", %s %s", verb, rows(r.RowsWritten))
	if r.BytesWritten > 0 {
		fmt.Fprintf(&b, " (%s)", size(r.BytesWritten))
	}
	fmt.Fprintf(&b, " in %s", elapsed(r.Wall))
	if r.BudgetBytes > 0 {
		fmt.Fprintf(&b, "; memory peak %s of %s", memorySize(r.PeakBytes), memorySize(r.BudgetBytes))
	}
	if r.SpilledBytes > 0 {
		fmt.Fprintf(&b, "; spilled %s", size(r.SpilledBytes))
	}
	b.WriteString("\n")
	for _, t := range r.Targets {
		b.WriteString(targetText(t))
	}
	b.WriteString(failureText(r))
	for _, t := range r.Targets {
		b.WriteString(deadText(t))
	}
	b.WriteString(warningText(r))
	return b.String()
}

func targetText(t dataset.TargetReport) string {
	files := ""
	switch {
	case len(t.Files) == 1 && t.Parts <= 1:
		if !strings.HasSuffix(t.Locator, t.Files[0]) {
			files = ", " + t.Files[0]
		}
	case t.Parts > 0:
		files = " in " + plural(int64(t.Parts), "file")
	}
	return fmt.Sprintf("  %s: %s, %s%s\n", printable(t.Locator), rows(t.Rows), size(t.Bytes), printable(files))
}

func noteText(r *dataset.Report) string {
	var b strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// maxExamples is how many examples are shown of a class of failures or warnings.
const maxExamples = 10

func failureText(r *dataset.Report) string {
	if len(r.Failures) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s failed and %s left out:\n", rows(r.RowsFailed), map[bool]string{true: "was", false: "were"}[r.RowsFailed == 1])
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "  %s: %s: %s\n", f.Op, printable(f.Class), rows(f.Count))
		for _, x := range f.Examples[:min(maxExamples, len(f.Examples))] {
			fmt.Fprintf(&b, "    %s: %s\n", printable(x.Where), printable(firstLine(x.Cause)))
		}
		if more := f.Count - int64(min(maxExamples, len(f.Examples))); more > 0 && len(f.Examples) > 0 {
			fmt.Fprintf(&b, "    … and %s more\n", count(more))
		}
	}
	return b.String()
}

func warningText(r *dataset.Report) string {
	var b strings.Builder
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s", printable(w.Class))
		if w.Count > 1 {
			fmt.Fprintf(&b, " (%s times)", count(w.Count))
		}
		b.WriteString("\n")
		shown := w.Examples[:min(maxExamples, len(w.Examples))]
		for _, x := range shown {
			fmt.Fprintf(&b, "    %s\n", printable(firstLine(x)))
		}
		if more := w.Count - int64(len(shown)); more > 0 && len(shown) > 0 {
			fmt.Fprintf(&b, "    … and %s more\n", count(more))
		}
	}
	return b.String()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
