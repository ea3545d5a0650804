package main

import (
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
)

func TestRun(t *testing.T) {
	python := connectortest.Python(t, "pyarrow")
	if python == "" {
		return
	}
	t.Setenv("SLUICE_PYTHON", python)
	var out strings.Builder
	if err := run(t.Context(), &out, "../data/events.jsonl", "."); err != nil {
		t.Fatal(err)
	}
	want := `1  2 words  Guten Morgen
1  2 words  Good morning
-1  5 words  Der Zug hat leider Verspätung
-1  5 words  The train is late again
1  5 words  Der nächste Zug ist pünktlich
3: Verspätung
2: morning
5: nächste
5: pünktlich
`
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("it does not print %q", line)
		}
	}
	if t.Failed() {
		t.Logf("it printed\n%s", out.String())
	}
}
