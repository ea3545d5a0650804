package sluice_test

import (
	"os"
	"path/filepath"
	"testing"
)

func TestStatsOfTheLastRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte("{\"id\":1}\n{\"id\":2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t)
	ds := s.Read(path).Filter("id > 1")
	if _, ok := ds.Stats(); ok {
		t.Error("there are numbers before the first run")
	}
	for range 2 {
		if n, err := ds.Count(t.Context()); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	}
	r, ok := ds.Stats()
	if !ok || r.RowsRead != 2 || len(r.Stages) < 2 || r.State != "ended" || r.Stages[0].P99 <= 0 {
		t.Errorf("the numbers are %v %+v", ok, r)
	}
	if _, ok := ds.Limit(1).Stats(); ok {
		t.Error("a dataset that was not run has the numbers of another")
	}
}
