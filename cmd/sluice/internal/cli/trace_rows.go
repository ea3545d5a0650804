package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/mattn/go-runewidth"

	"github.com/sluice-data/sluice/cmd/sluice/internal/trace"
)

// rows shows rows as a table where the terminal is wide enough to show every value whole, else one value a line; and their pictures.
func (p *tracePrinter) rows(ctx context.Context, r *trace.Rows, before *trace.Stage) error {
	n := min(p.shown, r.Len())
	labels := make([]string, n)
	for i := range labels {
		if labels[i] = r.Labels[i]; labels[i] == "" {
			labels[i] = "·"
		}
	}
	t := newTable(r.Schema, p.Stdout)
	t.labels = labels
	for row := range n {
		line := make([]string, r.Record.NumCols())
		for col := range line {
			line[col] = cellText(r.Record.Column(col), row)
		}
		t.cells = append(t.cells, line)
	}
	text := ""
	if t.fitsWhole() {
		text = t.text()
	} else {
		text = recordsText(r, labels, outputWidth(p.Stdout))
	}
	if more := r.Len() - n; more > 0 {
		text += fmt.Sprintf("… %s more %s\n", count(int64(more)), map[bool]string{true: "row", false: "rows"}[more == 1])
	}
	if _, err := fmt.Fprint(p.Stdout, text); err != nil {
		return err
	}
	return p.thumbnails(ctx, r, labels, before)
}

// columnChange says which columns a step added, changed and left out.
func columnChange(before, after *arrow.Schema) string {
	var added, changed, gone []string
	for _, f := range after.Fields() {
		name := printable(clipRunes(f.Name, widestColumn))
		old, ok := before.FieldsByName(f.Name)
		switch {
		case !ok:
			added = append(added, name)
		case !arrow.TypeEqual(old[0].Type, f.Type):
			changed = append(changed, fmt.Sprintf("%s from %s to %s", name, typeText(old[0].Type), typeText(f.Type)))
		}
	}
	for _, f := range before.Fields() {
		if !after.HasField(f.Name) {
			gone = append(gone, printable(clipRunes(f.Name, widestColumn)))
		}
	}
	var parts []string
	for _, x := range []struct {
		verb  string
		names []string
	}{{"adds", added}, {"turns", changed}, {"leaves out", gone}} {
		if len(x.names) > 0 {
			parts = append(parts, x.verb+" "+strings.Join(x.names, ", "))
		}
	}
	return clipRunes(strings.Join(parts, "; "), 4*tableWidth)
}

// Bounds of a value that stands alone.
const (
	recordLines = 4 // lines of one value
	recordDepth = 3 // structs whose fields are lines of their own
)

// recordsText writes rows one value a line; the fields of structs are values of their own, and long text is broken and then cut.
func recordsText(r *trace.Rows, labels []string, width int) string {
	var b strings.Builder
	for row := range labels {
		var lines [][2]string
		for i, f := range r.Schema.Fields() {
			lines = append(lines, valueLines(f.Name, r.Record.Column(i), row, 0)...)
		}
		names := 0
		for _, l := range lines {
			names = max(names, min(runewidth.StringWidth(l[0]), width/3))
		}
		margin := runewidth.StringWidth(labels[row]) + 2
		for i, l := range lines {
			head := strings.Repeat(" ", margin)
			if i == 0 {
				head = labels[row] + "  "
			}
			name := runewidth.FillRight(runewidth.Truncate(l[0], names, "…"), names)
			for k, part := range broken(l[1], max(12, width-margin-names-2), recordLines) {
				if k > 0 {
					head, name = strings.Repeat(" ", margin), strings.Repeat(" ", names)
				}
				b.WriteString(strings.TrimRight(head+name+"  "+part, " ") + "\n")
			}
		}
	}
	return b.String()
}

// valueLines are the lines of a value: one, or for a struct one for each of its fields.
func valueLines(name string, a arrow.Array, row, depth int) [][2]string {
	name = printable(clipRunes(name, widestColumn))
	s, ok := a.(*array.Struct)
	if !ok || depth == recordDepth || a.IsNull(row) || s.NumField() == 0 {
		return [][2]string{{name, cellText(a, row)}}
	}
	var out [][2]string
	for i, f := range s.DataType().(*arrow.StructType).Fields() { //nolint // arrays of structs have it
		out = append(out, valueLines(name+"."+f.Name, s.Field(i), row, depth+1)...)
	}
	return out
}

// broken divides a text into lines of a width, at most so many.
func broken(s string, width, most int) []string {
	var out []string
	for runewidth.StringWidth(s) > width {
		if len(out) == most-1 {
			return append(out, runewidth.Truncate(s, width, "…"))
		}
		head := runewidth.Truncate(s, width, "")
		if i := strings.LastIndexByte(head, ' '); i > width/2 {
			head = head[:i]
		}
		out = append(out, head)
		s = strings.TrimLeft(s[len(head):], " ")
	}
	return append(out, s)
}
