package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// blockOf makes a block from JSON lines.
func blockOf(t *testing.T, schema *arrow.Schema, json string) *block.Block {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.NewGoAllocator(), schema, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return block.New(rec, block.Identity{})
}

func show(t *testing.T, schema *arrow.Schema, blocks ...string) string {
	t.Helper()
	out := scratch(t)
	tb := newTable(schema, out)
	for _, j := range blocks {
		b := blockOf(t, schema, j)
		if err := tb.add(b, func() {}); err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	if err := tb.finish(); err != nil {
		t.Fatal(err)
	}
	return content(t, out)
}

var people = arrow.NewSchema([]arrow.Field{
	{Name: "path", Type: arrow.BinaryTypes.String}, {Name: "width", Type: arrow.PrimitiveTypes.Int32},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String)},
}, nil)

func TestTable(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	got := show(t, people, `[{"path": "photos/日本.jpg", "width": 640, "tags": ["a", "b"]}]`, `[]`, `[{"path": null, "width": 7, "tags": []}]`)
	want := `
path             width  tags
string           int32  list of string
photos/日本.jpg    640  ["a", "b"]
null                 7  []
2 rows
`
	if got != want[1:] {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
	if got := show(t, people); got != "path    width  tags\nstring  int32  list of string\n0 rows\n" {
		t.Errorf("empty:\n%s", got)
	}
}

func TestTableCountsWhatItLeavesOut(t *testing.T) {
	ids := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	part := func(from, n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(`{"id": %d}`, from+i))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	tests := []struct {
		blocks []string
		lines  int
		end    string
	}{
		{[]string{part(0, 40)}, 43, "\n   39\n40 rows\n"},
		{[]string{part(0, 41)}, 44, "\n   39\n… 1 more row\n41 rows\n"},
		{[]string{part(0, 30), part(30, 30), part(60, 1500)}, 44, "\n   39\n… 1,520 more rows\n1,560 rows\n"},
	}
	for _, tt := range tests {
		got := show(t, ids, tt.blocks...)
		if strings.Count(got, "\n") != tt.lines || !strings.HasSuffix(got, tt.end) {
			t.Errorf("%d lines, ends in %q, want %d and %q", strings.Count(got, "\n"), got[max(0, len(got)-50):], tt.lines, tt.end)
		}
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	var fields []arrow.Field
	var cells []string
	for i := range 20 {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: arrow.BinaryTypes.String})
		cells = append(cells, fmt.Sprintf(`"c%d": "%s"`, i, strings.Repeat("x", 100)))
	}
	schema := arrow.NewSchema(fields, nil)
	for _, width := range []int{1, 10, 40, 80, 200} {
		t.Setenv("COLUMNS", fmt.Sprint(width))
		got := show(t, schema, "[{"+strings.Join(cells, ",")+"}]")
		for i, line := range strings.Split(got, "\n")[:3] {
			if n := len([]rune(line)); n > width {
				t.Errorf("width %d: line %d has %d", width, i, n)
			}
		}
		if width < 200 && !strings.Contains(got, "not shown for width: ") {
			t.Errorf("width %d: columns vanish without a word:\n%s", width, got)
		}
	}
}

func TestPathsAreCutAtTheLeft(t *testing.T) {
	t.Setenv("COLUMNS", "20")
	schema := arrow.NewSchema([]arrow.Field{{Name: "path", Type: arrow.BinaryTypes.String}}, nil)
	got := show(t, schema, `[{"path": "a/very/long/folder/cat.jpg"}, {"path": "a/日本日本日本日本日本/日.jpg"}]`)
	want := "path\nstring\n…long/folder/cat.jpg\n…日本日本日本/日.jpg\n2 rows\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
