package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // the index of results is not for tests to write
	t.Chdir("../..")                        // where job.yaml finds its source
	out := filepath.Join(t.TempDir(), "texts.jsonl")
	values := map[string]string{"lang": "de", "out": out}
	for _, want := range []string{"read 6 rows, wrote 3", "already complete"} {
		if got, err := run(t.Context(), "examples/jobs/job.yaml", values); got != want || err != nil {
			t.Fatalf("it says %q, %v; want %q", got, err, want)
		}
	}
	data, err := os.ReadFile(out)
	want := `{"id":5,"len":29,"text":"Der nächste Zug ist pünktlich"}
{"id":1,"len":12,"text":"Guten Morgen"}
{"id":3,"len":29,"text":"Der Zug hat leider Verspätung"}
`
	if string(data) != want || err != nil {
		t.Errorf("the result is\n%s%v, want\n%s", data, err, want)
	}
	values["lang"] = "en"
	if _, err := run(t.Context(), "examples/jobs/job.yaml", values); err == nil || !strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("another job on the same result: %v", err)
	}
	delete(values, "lang")
	if _, err := run(t.Context(), "examples/jobs/job.yaml", values); err == nil || !strings.Contains(err.Error(), "{lang}") {
		t.Errorf("a placeholder without a value: %v", err)
	}
}
