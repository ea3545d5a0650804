package python

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/block"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// TestForms runs every form of function, in batches of several sizes.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		name string
		want func(i int) []string // the rows that input row i becomes
	}{
		{"Process", plain}, {"arrays", plain}, {"wait", plain}, {"wait_by_row", plain}, {"wait_and_yield", plain}, {"Awaits", plain}, {"instance", plain},
		{"lists", func(i int) []string { return []string{fmt.Sprint(i + 1)} }},
		{"numbers", func(i int) []string { return []string{fmt.Sprintf("[%d %d] | [%d %d %d]", i, 1-i, i, i+1, i+2)} }},
		{"nothing_at_all", func(int) []string { return nil }},
		{"by_row", rowByRow},
		{"mark_errors", func(i int) []string { return plain(i)[:(i+1)%2] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := run(t, udf(t, c.name, Only(), Batch(4)), 11, dt.Config{})
			sameRows(t, r, 11, c.want)
		})
	}
}

// TestShapes runs two forms over rows cut in every way.
func TestShapes(t *testing.T) {
	for name, want := range map[string]func(i int) []string{"arrays": plain, "by_row": rowByRow} {
		s := udf(t, name, Only())
		dt.Shapes(t, func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
			b := rows(t, mem, 11).Blocks[0]
			defer b.Release()
			b.Record().Retain()
			return b.Record()
		}, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
			sameRows(t, dt.Run(t, mem, s, dt.Config{}, in), 11, want)
		})
	}
}

// sameRows compares the rows that came out with those that the n input rows become, in any order.
func sameRows(t *testing.T, r *dt.Result, n int, want func(i int) []string) {
	t.Helper()
	var all []string
	for i := range n {
		all = append(all, want(i)...)
	}
	got := r.Rows()
	slices.Sort(got)
	slices.Sort(all)
	if !slices.Equal(got, all) {
		t.Errorf("rows are %q, want %q", got, all)
	}
}

func rowByRow(i int) []string {
	switch i % 5 {
	case 3, 4:
		return nil
	case 2:
		return []string{`1 | "a"`, `2 | "b"`}
	}
	return []string{fmt.Sprintf(`%d | "row %d ä€😀"`, i, i)}
}

func plain(i int) []string { return []string{fmt.Sprint(i)} }

// TestParents checks which rows new rows descend from, in blocks of one size.
func TestParents(t *testing.T) {
	for name, want := range map[string]string{
		"generate":           `1:1.0 0|1 1:2.0 0|2 1:2.1 1|2 1:4.0 0|4`,
		"generate_backwards": `1:0.0 0|0 1:1.0 1|1 1:2.0 2|2 1:3.0 3|3 1:4.0 4|4`,
		"generate_batches":   `1:0.0 0|0 1:1.0 1|1 1:2.0 2|2 1:3.0 3|3 1:4.0 4|4`,
		"every_other":        `1:0.0 0|0 1:2.0 2|2 1:4.0 4|4`,
		"by_row":             `1:0.0 0|0 1:1.0 1|1 1:2.0 1|2 1:2.1 2|2`,
	} {
		t.Run(name, func(t *testing.T) {
			mem := arraytest.NewMemory(t)
			r := dt.Run(t, mem, udf(t, name), dt.Config{}, rows(t, mem, 5))
			var got []string
			ids := r.IDs()
			for _, b := range r.Blocks {
				n, id := b.ColumnByName("n"), b.ColumnByName("id")
				for i := range b.NumRows() {
					got = append(got, fmt.Sprintf("%s %s|%s", ids[len(got)], n.ValueStr(i), id.ValueStr(i)))
				}
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("rows are %s, want %s", s, want)
			}
		})
	}
}

// TestColumns checks which columns a function sees and where those that it returns go.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		name, want string
		opts       []Option
	}{
		{"Scorer", "id int64, text utf8, twice int64, made int64: 0 | \"row 0 ä€😀\" | 0 | 1", nil},
		{"Scorer", "twice int64, made int64: 0 | 1", []Option{Only(), Arg("factor", 7)}},
		{"replace", "id int32, text utf8: 0 | \"row 0 ä€😀\"", []Option{Columns("id")}},
		{"replace", "id int32: 0", []Option{Only()}},
		{"Asks", "id int64, text utf8, like_text utf8: 0 | \"row 0 ä€😀\" | \"row 0 ä€😀\"", []Option{Columns("text")}},
		{"arrays", "id int64, text utf8, n int64: 0 | \"row 0 ä€😀\" | 0", []Option{Schema("n int64")}},
		{"same", "id int64, text utf8: 0 | \"row 0 ä€😀\"", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := run(t, udf(t, c.name, c.opts...), 3, dt.Config{})
			var cols []string
			for _, f := range r.Schema.Fields() {
				cols = append(cols, f.Name+" "+f.Type.String())
			}
			if got := strings.Join(cols, ", ") + ": " + r.Rows()[0]; got != c.want {
				t.Errorf("it gives %s, want %s", got, c.want)
			}
		})
	}
}

// TestNeededColumns checks what is not read when it is not wanted.
func TestNeededColumns(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
		need string
		opts []Option
	}{
		{"Scorer", []string{"twice"}, "id", nil},
		{"Scorer", []string{"twice", "text"}, "id,text", nil},
		{"Scorer", nil, "", nil},
		{"Scorer", nil, "id", []Option{Only()}},
		{"arrays", []string{"n"}, "id,text", nil},
		{"arrays", []string{"n"}, "text", []Option{Columns("text")}},
	} {
		s := udf(t, c.name, c.opts...)
		if got := strings.Join(s.Columns(table, c.want), ","); got != c.need {
			t.Errorf("%s, of which %v are wanted, needs %s, want %s", c.name, c.want, got, c.need)
		}
	}
}

// TestEveryType sends every type that blocks carry through functions that return what they were given, as it is and made anew.
func TestEveryType(t *testing.T) {
	types := append(arraytest.Types(), block.Image, block.Pixels)
	for _, name := range []string{"same", "rebuilt"} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				mem := arraytest.NewMemory(t)
				r := rand.New(rand.NewPCG(seed, 1))
				rec := arraytest.RandomRecord(r, mem, types, []int{2, 3, 100, 900}[seed], seed%2 == 0)
				want := arraytest.Rows(rec)
				res := dt.Run(t, mem, udf(t, name), dt.Config{}, dt.FromRecord(rec, 1))
				if got := res.Rows(); !slices.Equal(got, want) {
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("row %d is\n%s, want\n%s", i, got[i], want[i])
						}
					}
				}
			})
		}
	}
}

// TestPictures has pictures go through functions that say they are bytes, and the other way round.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		in     arrow.DataType
		schema string
		want   arrow.DataType
	}{
		{block.Image, "p binary", arrow.BinaryTypes.Binary}, {arrow.BinaryTypes.Binary, "p image", block.Image}, {block.Image, "p image", block.Image},
	} {
		for _, name := range []string{"same", "rebuilt"} {
			mem := arraytest.NewMemory(t)
			rec := arraytest.RandomRecord(rand.New(rand.NewPCG(1, 1)), mem, []arrow.DataType{c.in}, 20, true)
			named := block.FromColumns(dt.Schema("p", c.in), rec.Columns(), 20)
			rec.Release()
			want := arraytest.Rows(named)
			r := dt.Run(t, mem, udf(t, name, Schema(c.schema)), dt.Config{}, dt.FromRecord(named, 1))
			if got := r.Rows(); !slices.Equal(got, want) || !arrow.TypeEqual(r.Blocks[0].Column(0).DataType(), c.want) {
				t.Errorf("%s of %s with %s gives %s %v, want %v", name, c.in, c.schema, r.Blocks[0].Column(0).DataType(), got, want)
			}
		}
	}
}

// TestNulls has nulls go there and come back.
func TestNulls(t *testing.T) {
	mem := arraytest.NewMemory(t)
	in := dt.FromJSON(t, mem, table, `[{"id":null,"text":null},{"id":1},{"text":""}]`)
	got := dt.Run(t, mem, udf(t, "lists"), dt.Config{}, in).Rows()
	if want := []string{`null | null | null`, `1 | null | 2`, `null | "" | null`}; !slices.Equal(got, want) {
		t.Errorf("rows are %q, want %q", got, want)
	}
}

// TestEmptyInput makes no process.
func TestEmptyInput(t *testing.T) {
	mem := arraytest.NewMemory(t)
	in := dt.FromJSON(t, mem, table, `[]`)
	if r := dt.Run(t, mem, udf(t, "FailsToLoad"), dt.Config{}, in); r.NumRows() != 0 {
		t.Errorf("%d rows came out", r.NumRows())
	}
}

// TestHugeBlock sends 40 MB in one batch, and gets them in blocks of the size that blocks should have.
func TestHugeBlock(t *testing.T) {
	mem := arraytest.NewMemory(t)
	const n, size = 40, 1 << 20
	b := arraytest.FromJSON(t, mem, table, "["+strings.TrimSuffix(strings.Repeat(`{"id":1,"text":"`+strings.Repeat("x", size)+`"},`, n), ",")+"]")
	r := dt.Run(t, mem, udf(t, "rebuilt", Processes(1)), dt.Config{BlockBytes: 2 << 20}, dt.FromRecord(b, 1))
	if r.NumRows() != n || len(r.Blocks) < 8 {
		t.Errorf("%d rows came out in %d blocks", r.NumRows(), len(r.Blocks))
	}
	for _, x := range r.Blocks {
		if got := x.ColumnByName("text").ValueStr(x.NumRows() - 1); len(got) != size {
			t.Errorf("a text has %d bytes", len(got))
		}
	}
}

// TestKeptBatches has a function keep what it was given, which must then stay as it was.
func TestKeptBatches(t *testing.T) {
	r, _ := run(t, udf(t, "keeps", Batch(10), Processes(1)), 300, dt.Config{})
	if r.NumRows() != 300 || len(r.Failures) > 0 {
		t.Errorf("%d rows came out, failures %v", r.NumRows(), r.Causes())
	}
}

// TestObjectsLiveLong checks that each process makes one object, and closes it.
func TestObjectsLiveLong(t *testing.T) {
	r, _ := run(t, udf(t, "Scorer", Batch(3), Processes(1)), 100, dt.Config{})
	for _, row := range r.Rows() {
		if !strings.HasSuffix(row, " | 1") {
			t.Fatalf("an object was made again: %s", row)
		}
	}
	closed := filepath.Join(t.TempDir(), "closed")
	t.Setenv("CLOSED", closed)
	run(t, udf(t, "Process", Processes(1)), 10, dt.Config{})
	if data, err := os.ReadFile(closed); err != nil || string(data) != "closed\n" {
		t.Errorf("it was closed %q times (%v)", data, err)
	}
}

// TestIdentityOfTheCommand checks what makes two runs the same command.
func TestIdentityOfTheCommand(t *testing.T) {
	text := func(opts ...Option) string { return fmt.Sprint(udf(t, "Scorer", opts...).Params()) }
	base := text()
	if !strings.Contains(base, "sha256 ") {
		t.Errorf("the code is not in it: %s", base)
	}
	for name, o := range map[string]Option{"arg": Arg("factor", 3), "schema": Schema("twice int64"), "only": Only(), "columns": Columns("id"), "takes": Takes("table")} {
		if text(o) == base {
			t.Errorf("%s makes no difference", name)
		}
	}
	for name, o := range map[string]Option{"processes": Processes(7), "batch": Batch(9), "timeout": Timeout(1e9), "memory": Memory(1 << 30)} {
		if text(o) != base {
			t.Errorf("%s makes a difference, and changes no row", name)
		}
	}
	file := filepath.Join(t.TempDir(), "v.py")
	code := func(version, body string) string {
		if err := os.WriteFile(file, []byte("def f(batch):\n    "+body+"\n    return batch\nf.schema = 'n int64'\n"+version), 0o600); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(anyKind(Func(file+":f", Venv(python(t)))).Params())
	}
	if code("", "x = 1") == code("", "x = 2") {
		t.Error("other code is the same command")
	}
	if code("f.version = 3\n", "x = 1") != code("f.version = 3\n", "x = 2") || code("f.version = 3\n", "x = 1") == code("f.version = 4\n", "x = 1") {
		t.Error("a version that the function states is not what counts")
	}
}
