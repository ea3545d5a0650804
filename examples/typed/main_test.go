package main

import (
	"strings"
	"testing"
)

const want = `1 de: "Guten Morgen", 2 words
2 en: "Good morning", 2 words
5 de: "Der nächste Zug ist pünktlich", 5 words
left out: 1 row, there is no text
`

func TestRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // the index of results is not for tests to write
	var out strings.Builder
	if err := run(t.Context(), &out, "../data/events.jsonl"); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("it printed\n%swant\n%s", out.String(), want)
	}
}
