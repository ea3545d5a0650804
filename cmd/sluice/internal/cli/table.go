package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/sluice-data/sluice/dataset/block"
)

// Bounds of a table.
const (
	tableRows    = 40  // rows shown
	tableWidth   = 120 // columns of a terminal whose width is not known
	narrowest    = 8   // width that a column is cut down to before columns are left out
	widestColumn = 60
)

// table shows the first rows for people and counts the others.
type table struct {
	out     *os.File
	schema  *arrow.Schema
	labels  []string // of the rows, in a column before the others; nil for none
	cells   [][]string
	total   int64
	printed bool
}

func newTable(schema *arrow.Schema, out *os.File) *table { return &table{out: out, schema: schema} }

// add takes the rows of a block, which it borrows. clear is called before anything is printed.
func (t *table) add(b *block.Block, clear func()) error {
	n := b.NumRows()
	t.total += int64(n)
	for row := 0; row < n && len(t.cells) < tableRows; row++ {
		line := make([]string, b.NumCols())
		for col := range line {
			line[col] = cellText(b.Column(col), row)
		}
		t.cells = append(t.cells, line)
	}
	if t.printed || t.total <= tableRows {
		return nil
	}
	clear()
	t.printed = true
	return t.write(t.text())
}

// finish prints what is left to print.
func (t *table) finish() error {
	text := ""
	if !t.printed {
		text = t.text()
	}
	if more := t.total - int64(len(t.cells)); more > 0 {
		text += fmt.Sprintf("… %s more %s\n", count(more), map[bool]string{true: "row", false: "rows"}[more == 1])
	}
	return t.write(text + dim(t.out, rows(t.total)) + "\n")
}

func (t *table) write(s string) error {
	_, err := t.out.WriteString(s)
	return err
}

// columns measures the columns.
func (t *table) columns() []column {
	cols := make([]column, t.schema.NumFields())
	for i, f := range t.schema.Fields() {
		cols[i] = newColumn(f)
		slashes := 0
		for _, line := range t.cells {
			cols[i].width = max(cols[i].width, runewidth.StringWidth(line[i]))
			if strings.Contains(line[i], "/") && !strings.ContainsAny(line[i], " {[") {
				slashes++
			}
		}
		cols[i].paths = 2*slashes > len(t.cells)
	}
	return cols
}

// margin is the width of the labels with what divides them from the rest.
func (t *table) margin() int {
	w := 0
	for _, l := range t.labels {
		w = max(w, runewidth.StringWidth(l)+2)
	}
	return w
}

// fitsWhole says whether no value has to be cut.
func (t *table) fitsWhole() bool {
	total := t.margin() - 2
	for i, c := range t.columns() {
		for _, line := range t.cells {
			if strings.HasSuffix(line[i], "…") || runewidth.StringWidth(line[i]) > widestColumn {
				return false
			}
		}
		total += c.width + 2
	}
	return total <= outputWidth(t.out)
}

// text lays out the header and the rows.
func (t *table) text() string {
	cols, margin := t.columns(), t.margin()
	shown := fit(cols, outputWidth(t.out)-margin)
	var b strings.Builder
	put := func(label string, style func(*os.File, string) string, cell func(int, column) string) {
		line := ""
		for i, c := range cols[:shown] {
			line = c.put(line, cell(i, c), i == shown-1)
		}
		b.WriteString(style(t.out, runewidth.FillRight(label, margin)+line) + "\n")
	}
	plainly := func(_ *os.File, s string) string { return s }
	put("", bold, func(_ int, c column) string { return c.name })
	put("", dim, func(_ int, c column) string { return c.typ })
	for k, cells := range t.cells {
		label := ""
		if t.labels != nil {
			label = t.labels[k]
		}
		put(label, plainly, func(i int, _ column) string { return cells[i] })
	}
	if shown < len(cols) {
		var names []string
		for _, c := range cols[shown:] {
			names = append(names, c.name)
		}
		b.WriteString(dim(t.out, clipRunes(fmt.Sprintf("not shown for width: %s", strings.Join(names, ", ")), 2*tableWidth)) + "\n")
	}
	return b.String()
}

// column is one column of the layout.
type column struct {
	name, typ string
	width     int
	right     bool // numbers
	paths     bool // cut at the left, because the end tells more
}

func newColumn(f arrow.Field) column {
	c := column{name: printable(clipRunes(f.Name, widestColumn)), typ: typeText(f.Type)}
	c.width = max(runewidth.StringWidth(c.name), min(runewidth.StringWidth(c.typ), narrowest*2))
	c.right = arrow.IsInteger(f.Type.ID()) || arrow.IsFloating(f.Type.ID()) || arrow.IsDecimal(f.Type.ID())
	return c
}

// put appends a cell to a line.
func (c column) put(line, text string, last bool) string {
	if over := runewidth.StringWidth(text) - c.width; over > 0 && c.paths {
		text = runewidth.TruncateLeft(text, over+1, "…")
	}
	text = runewidth.Truncate(text, c.width, "…")
	pad := strings.Repeat(" ", c.width-runewidth.StringWidth(text))
	if line != "" {
		line += "  "
	}
	switch {
	case c.right:
		return line + pad + text
	case last:
		return line + text
	}
	return line + text + pad
}

// fit narrows the widest columns until the table has the given width, and returns how many columns have room. One always has.
func fit(cols []column, width int) int {
	total := 0
	for i := range cols {
		cols[i].width = min(cols[i].width, widestColumn, width)
		total += cols[i].width + 2
	}
	for total-2 > width {
		widest := 0
		for i := range cols {
			if cols[i].width > cols[widest].width {
				widest = i
			}
		}
		if cols[widest].width <= narrowest {
			break
		}
		cols[widest].width--
		total--
	}
	shown, used := 0, 0
	for ; shown < len(cols); shown++ {
		used += cols[shown].width
		if used > width && shown > 0 {
			break
		}
		used += 2
	}
	return shown
}

// typeText is the name of a type as people say it.
func typeText(t arrow.DataType) string {
	switch x := t.(type) {
	case *arrow.StringType, *arrow.LargeStringType:
		return "string"
	case *arrow.DictionaryType:
		return typeText(x.ValueType)
	case *arrow.ListType:
		return "list of " + typeText(x.Elem())
	case *arrow.LargeListType:
		return "list of " + typeText(x.Elem())
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("list of %d %s", x.Len(), typeText(x.Elem()))
	case *arrow.TimestampType:
		if x.TimeZone == "" {
			return "timestamp"
		}
		return "timestamp " + x.TimeZone
	case *arrow.StructType:
		return "struct"
	case *arrow.MapType:
		return "map"
	case *arrow.FixedSizeBinaryType:
		return "binary"
	case arrow.ExtensionType:
		if s, ok := x.(fmt.Stringer); ok && !strings.Contains(s.String(), "extension") {
			return printable(clipRunes(s.String(), widestColumn))
		}
		return printable(x.ExtensionName())
	}
	return printable(t.String())
}

// outputWidth is the width that a table may have.
func outputWidth(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return tableWidth
}

func bold(f *os.File, s string) string { return styled(f, "1", s) }

func dim(f *os.File, s string) string { return styled(f, "2", s) }

// styled sets text in a style where a terminal shows it and nobody asked for none.
func styled(f *os.File, code, s string) string {
	if s == "" || !isTerminal(f) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
