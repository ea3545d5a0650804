package csv_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// python finds an interpreter that has pyarrow: SLUICE_PYTHON, the module's .venv, python3. Without one the test says so and ends, or
// fails when SLUICE_REQUIRE_PYTHON is 1.
func python(t *testing.T) string {
	t.Helper()
	tries := []string{"python3"}
	if dir, err := filepath.Abs("../.."); err == nil {
		tries = append([]string{filepath.Join(dir, ".venv", "bin", "python")}, tries...)
	}
	if p := os.Getenv("SLUICE_PYTHON"); p != "" {
		tries = []string{p}
	}
	for _, p := range tries {
		if exec.Command(p, "-c", "import pyarrow.csv").Run() == nil {
			return p
		}
	}
	if os.Getenv("SLUICE_REQUIRE_PYTHON") == "1" {
		t.Fatalf("none of %v has pyarrow", tries)
	}
	t.Logf("the pyarrow side was not checked: none of %v has pyarrow", tries)
	return ""
}

// pyRead has pyarrow read a file and returns its rows; null is an unquoted empty field to both.
const pyRead = `
import sys
import pyarrow as pa, pyarrow.csv as pc
t = pc.read_csv(sys.argv[1], parse_options=pc.ParseOptions(newlines_in_values=True),
    convert_options=pc.ConvertOptions(null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False))
with pa.OSFile(sys.argv[2], "wb") as f, pa.ipc.new_stream(f, t.schema) as w:
    w.write_table(t)
`

// pyWrite has pyarrow write the rows of a stream as CSV.
const pyWrite = `
import sys
import pyarrow as pa, pyarrow.csv as pc
pc.write_csv(pa.ipc.open_stream(sys.argv[1]).read_all(), sys.argv[2])
`

// tableColumns are the values that both sides must agree on.
func tableColumns(t *testing.T) (names []string, cols []arrow.Array) {
	t.Helper()
	mem := memory.DefaultAllocator
	return []string{"i", "s", "f", "b", "d"}, []arrow.Array{
		column(t, mem, arrow.PrimitiveTypes.Int64, `[1, null, -9223372036854775808, 9223372036854775807]`),
		column(t, mem, arrow.BinaryTypes.String, `["a\n\"b\",", "", null, "ü; \t'"]`),
		column(t, mem, arrow.PrimitiveTypes.Float64, `[0.3269020709987017, 1e-300, null, -1.7976931348623157e308]`),
		column(t, mem, arrow.FixedWidthTypes.Boolean, `[true, null, false, true]`),
		column(t, mem, arrow.FixedWidthTypes.Date32, `["2024-02-29", null, "1969-12-31", "1970-01-01"]`),
	}
}

func runPython(t *testing.T, py string, args ...string) {
	t.Helper()
	if out, err := exec.Command(py, append([]string{"-c"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("pyarrow: %v\n%s", err, out)
	}
}

// TestPyArrowReadsOurs has pyarrow read what we write.
func TestPyArrowReadsOurs(t *testing.T) {
	py := python(t)
	if py == "" {
		return
	}
	f, err := csv.NewFormat(csv.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names, cols := tableColumns(t)
	text, _ := encode(t, f, names, cols...)
	dir := t.TempDir()
	write(t, dir, map[string]string{"ours.csv": text})
	runPython(t, py, pyRead, filepath.Join(dir, "ours.csv"), filepath.Join(dir, "out.arrow"))
	data, err := os.ReadFile(filepath.Join(dir, "out.arrow"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal("no rows")
	}
	for i, want := range cols {
		if got := r.RecordBatch().Column(i); !array.Equal(got, want) {
			t.Errorf("column %s is %v (%s), want %v", names[i], got, got.DataType(), want)
		}
		want.Release()
	}
}

// TestWeReadPyArrow reads what pyarrow writes.
func TestWeReadPyArrow(t *testing.T) {
	py := python(t)
	if py == "" {
		return
	}
	names, cols := tableColumns(t)
	var fields []arrow.Field
	for i, c := range cols {
		fields = append(fields, arrow.Field{Name: names[i], Type: c.DataType(), Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(schema))
	if err := w.Write(array.NewRecordBatch(schema, cols, int64(cols[0].Len()))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"in.arrow": buf.String()})
	runPython(t, py, pyWrite, filepath.Join(dir, "in.arrow"), filepath.Join(dir, "theirs.csv"))
	src := open(t, file.Local{}, filepath.Join(dir, "theirs.csv"), csv.Options{}, 0)
	rt := connectortest.NewRuntime(t)
	r, err := src.Open(t.Context(), rt, connectortest.Splits(t, src, dataset.Cursor{})[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err, rt.Failures())
	}
	for i, want := range cols {
		if !array.Equal(b.Column(i), want) {
			t.Errorf("column %s is %v (%s), want %v", names[i], b.Column(i), b.Column(i).DataType(), want)
		}
		want.Release()
	}
	b.Release()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if fails := rt.Failures(); len(fails) > 0 || strings.Join(rt.Warnings(), "") != "" {
		t.Error(fails, rt.Warnings())
	}
}
