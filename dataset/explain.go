package dataset

import (
	"fmt"
	"strings"
)

// Explain prints the logical plan as a tree, outputs first, inputs below what uses them. A step that was printed already is named again by
// its number only.
func Explain(outs ...Output) string {
	e := &explainer{seen: map[*Node]int{}}
	for _, o := range outs {
		if o.Sink != nil {
			to := ""
			t, commits := o.Sink.(Target)
			if commits {
				to = " " + t.Locator()
			}
			e.out.WriteString(strings.TrimSpace(o.Sink.Name()+to+" "+paramText(o.Sink.Params())) + "\n")
			if !commits {
				e.out.WriteString("  (cannot commit: rows arrive at least once)\n")
			}
		} else {
			e.out.WriteString("hand over to the caller\n")
		}
		e.node(o.Node, "", true)
	}
	return e.out.String()
}

type explainer struct {
	out  strings.Builder
	seen map[*Node]int
}

func (e *explainer) node(n *Node, indent string, last bool) {
	branch, below := "├─ ", "│  "
	if last {
		branch, below = "└─ ", "   "
	}
	if no, ok := e.seen[n]; ok {
		fmt.Fprintf(&e.out, "%s%s#%d again (%s)\n", indent, branch, no, n.Name())
		return
	}
	e.seen[n] = len(e.seen) + 1
	fmt.Fprintf(&e.out, "%s%s#%d %s\n", indent, branch, e.seen[n], StepText(n))
	for i, in := range n.Inputs {
		e.node(in, indent+below, i == len(n.Inputs)-1)
	}
}

// StepText is one line on a node: its name, its parameters, and what it holds.
func StepText(n *Node) string {
	var params any
	holds := "streams"
	if n.Source != nil {
		params = n.Source.Params()
	} else {
		params = n.Spec.Params()
		if m, ok := n.Spec.(Memory); ok {
			holds = m.Holds()
		}
	}
	text := n.Name()
	if p := paramText(params); p != "" {
		text += " " + p
	}
	if n.Source == nil {
		text += "  [" + holds + "]"
	}
	return text
}
