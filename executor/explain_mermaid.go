package executor

import (
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// Mermaid draws both trees as one flowchart of Mermaid, which Markdown viewers show as a picture. Edges carry the rows that went over them, once
// the plan was run.
func (e *Explanation) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	e.mermaidLogical(&b)
	e.mermaidPhysical(&b)
	b.WriteString("  classDef spills fill:#fff3cd,stroke:#b58900,color:#000\n  classDef state fill:#f8d7da,stroke:#b02a37,color:#000\n")
	return b.String()
}

// mermaidLogical draws the steps as they were written, from sources to sinks.
func (e *Explanation) mermaidLogical(b *strings.Builder) {
	b.WriteString("  subgraph logical[Logical plan]\n    direction LR\n")
	ids := map[*dataset.Node]string{}
	roots := make([]*dataset.Node, len(e.outs))
	for i, o := range e.outs {
		roots[i] = o.Node
	}
	dataset.Walk(func(n *dataset.Node) {
		ids[n] = fmt.Sprintf("l%d", len(ids)+1)
		fmt.Fprintf(b, "    %s[\"%s\"]%s\n", ids[n], mermaidText(dataset.StepText(n)), memoryClass(n))
		for _, in := range n.Inputs {
			fmt.Fprintf(b, "    %s --> %s\n", ids[in], ids[n])
		}
	}, roots...)
	for i, o := range e.outs {
		name := "hand over to the caller"
		if o.Sink != nil {
			name = "write " + o.Sink.Name()
			if t, ok := o.Sink.(dataset.Target); ok {
				name += " " + t.Locator()
			}
		}
		fmt.Fprintf(b, "    lo%d([\"%s\"])\n    %s --> lo%d\n", i+1, mermaidText(name), ids[o.Node], i+1)
	}
	b.WriteString("  end\n")
}

// mermaidPhysical draws the stages.
func (e *Explanation) mermaidPhysical(b *strings.Builder) {
	b.WriteString("  subgraph physical[Physical plan]\n    direction LR\n")
	for i, s := range e.stages {
		lines := []string{fmt.Sprintf("%d %s", i+1, s.Name)}
		if f := strings.Trim(s.facts(), " ()"); f != "" {
			lines = append(lines, f)
		}
		class := ""
		for _, n := range s.Ops {
			if c := memoryClass(n); c != "" {
				class = c
			}
		}
		if m, ok := e.stageReport(i); ok {
			lines = append(lines, fmt.Sprintf("slots held %s, memory peak %s", brief(m.Busy), roughly(m.PeakBytes)))
			if c := e.measured.cpu; c != nil && c.Stage(i) > 0 {
				lines = append(lines, "CPU "+partOf(c.Stage(i), c.Total()))
			}
		}
		for j := range lines {
			lines[j] = mermaidText(lines[j])
		}
		fmt.Fprintf(b, "    s%d[\"%s\"]%s\n", i+1, strings.Join(lines, "<br/>"), class)
		for _, from := range s.Inputs {
			edge := "-->"
			if m, ok := e.stageReport(from); ok {
				edge = fmt.Sprintf("-- \"%s\" -->", plural(int(m.RowsOut), "row"))
			}
			fmt.Fprintf(b, "    s%d %s s%d\n", from+1, edge, i+1)
		}
	}
	b.WriteString("  end\n")
}

// memoryClass marks what spills or holds state.
func memoryClass(n *dataset.Node) string {
	m, ok := n.Spec.(dataset.Memory)
	switch {
	case !ok || m.Holds() == "streams":
		return ""
	case strings.HasPrefix(m.Holds(), "spills"):
		return ":::spills"
	}
	return ":::state"
}

// mermaidChars are characters that mean something within a quoted label.
var mermaidChars = strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "#", "#35;", "`", "#96;", "\n", " ")

func mermaidText(s string) string { return mermaidChars.Replace(s) }
