package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// notePushed says which steps a filter went before.
func notePushed(was, now *Node) string {
	var passed []string
	n := now
	for ; n.Spec != nil && n.Spec != was.Spec; n = n.Inputs[0] {
		passed = append(passed, n.Name())
	}
	slices.Reverse(passed)
	return fmt.Sprintf("%s runs before %s", shortStep(was), strings.Join(passed, " and "))
}

// noteComposed says which steps became one.
func noteComposed(was, _ *Node) string {
	return fmt.Sprintf("%s joins %s: one pass over each row", was.Name(), was.Inputs[0].Name())
}

// notePruned says which filter a source was told of.
func notePruned(was, now *Node) string {
	if was.Inputs[0].Source == now.Inputs[0].Source {
		return ""
	}
	return fmt.Sprintf("%s skips what cannot satisfy %s", was.Inputs[0].Name(), shortStep(was))
}

// noteLimited says that a source was told of a limit.
func noteLimited(was, now *Node) string {
	if was.Inputs[0].Source == now.Inputs[0].Source {
		return ""
	}
	return fmt.Sprintf("%s reads no more of a split than %s needs", was.Inputs[0].Name(), shortStep(was))
}

// maxNoted is how many columns a note names.
const maxNoted = 8

// noteNarrowed says which columns a source leaves out.
func noteNarrowed(source string, full *arrow.Schema, cols []string) string {
	var out []string
	for _, f := range full.Fields() {
		if !slices.Contains(cols, f.Name) {
			out = append(out, f.Name)
		}
	}
	if n := len(out) - maxNoted; n > 0 {
		out = append(out[:maxNoted], fmt.Sprintf("%d more", n))
	}
	return fmt.Sprintf("%s reads %d of %d columns and leaves out %s", source, len(cols), full.NumFields(), strings.Join(out, ", "))
}

// shortStep is a step and its parameters.
func shortStep(n *Node) string {
	text := n.Name()
	if p := paramText(n.Spec.Params()); p != "" {
		text += " " + p
	}
	return text
}
