package csv_test

import (
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// TestRemedies: files of the usual other dialects say which option reads them.
func TestRemedies(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"semicolons", "\"a\";\"b\"\n\"1\";\"2\"\n", `pass delim=";"`},
		{"tabs", "\"a\"\t\"b\"\n", "pass delim=tab"},
		{"bars below the header", "a,b\n\"1\"|\"2\",3\n", `pass delim="|"`},
		{"backslashes", "a,b\n1,\"x \\\"y\\\" z\"\n", `pass escape="\\"`},
		{"quotes as text", "a,b\n1,\"x\"y\n", `pass quote=""`},
		{"comments", "# made today\na,b\n1,2\n", `pass comment="#"`},
		{"one field", "a\n1,2\n", "has 2 fields, and the file has 1 column; pass ragged=null"},
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"in.csv": c.text})
		src, err := csv.NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: dir}}), csv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		if _, err := src.Schema(t.Context()); err != nil {
			said = err.Error()
		} else {
			rt := connectortest.NewRuntime(t)
			connectortest.ReadAll(t, src, rt)
			for _, f := range rt.Failures() {
				said += f.Err.Error() + "\n"
			}
		}
		if !strings.Contains(said, c.want) {
			t.Errorf("%s: %q does not say %q", c.name, said, c.want)
		}
	}
}
