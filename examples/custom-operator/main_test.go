package main

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

func TestRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // the index of results is not for tests to write
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `1 write to <address> or <address>
2 no address here
3 <nil>
1 write to *** or ***
`
	if out.String() != want {
		t.Errorf("it printed\n%swant\n%s", out.String(), want)
	}
}

// TestContract runs the operator over blocks of every shape. The harness also checks that identities survive, that memory is given back and that
// nothing is emitted after an error.
func TestContract(t *testing.T) {
	schema := datasettest.Schema("id", arrow.PrimitiveTypes.Int64, "text", arrow.BinaryTypes.String)
	rows := func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
		return arraytest.FromJSON(t, mem, schema, `[{"id":1,"text":"a@b.cd"},{"id":2,"text":null},{"id":3,"text":""},{"id":4,"text":"none"}]`)
	}
	datasettest.Shapes(t, rows, func(t *testing.T, mem *arraytest.Memory, in datasettest.Input) {
		spec, err := Redact(Params{Column: "text", With: "*"})
		if err != nil {
			t.Fatal(err)
		}
		res := datasettest.Run(t, mem, spec, datasettest.Config{Instances: 2}, in)
		for _, row := range res.Rows() {
			if strings.Contains(row, "@") {
				t.Errorf("an address is left in %s", row)
			}
		}
	})
}

func TestCheckRefuses(t *testing.T) {
	for _, tc := range []struct {
		p    Params
		want string
	}{
		{Params{Column: "txet"}, `did you mean "text"`},
		{Params{Column: "id"}, "want text"},
	} {
		spec, err := Redact(tc.p)
		if err != nil {
			t.Fatal(err)
		}
		schema := datasettest.Schema("id", arrow.PrimitiveTypes.Int64, "text", arrow.BinaryTypes.String)
		if _, err := spec.Check([]*arrow.Schema{schema}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: the error is %v, want one with %q", tc.p, err, tc.want)
		}
	}
	if _, err := Redact(Params{}); err == nil {
		t.Error("no column is accepted")
	}
}
