package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
)

func TestRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // the index of results is not for tests to write
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `142858 numbers below a million are divisible by 7
[map[n:51 square:2601] map[n:52 square:2704]]
0 1 2 0 1 
`
	if out.String() != want {
		t.Errorf("it printed\n%swant\n%s", out.String(), want)
	}
}

// TestContract checks what the engine relies on: other splits, other blocks, a replay from any offset and a listing that goes on behind a cursor
// all give the same rows under the same names.
func TestContract(t *testing.T) {
	src := &numbers{counts: []uint64{10, 0, 7}, split: 4}
	all := connectortest.ReadAll(t, src, connectortest.NewRuntime(t))
	if len(all) != 17 {
		t.Fatalf("%d rows, want 17", len(all))
	}
	for _, split := range []uint64{1, 5, 100} {
		other := &numbers{counts: src.counts, split: split}
		if got := connectortest.ReadAll(t, other, connectortest.NewRuntime(t)); !slices.Equal(got, all) {
			t.Errorf("splits of %d give other rows", split)
		}
	}
	rt := connectortest.NewRuntime(t)
	rt.Rows = 1
	if got := connectortest.ReadAll(t, src, rt); !slices.Equal(got, all) {
		t.Error("blocks of one row give other rows")
	}
	done := 0
	for _, s := range connectortest.Splits(t, src, dataset.Cursor{}) {
		r := s.Ranges[0]
		for offset := r.Start; offset <= r.End; offset++ {
			got, err := connectortest.ReadSplit(t.Context(), src, connectortest.NewRuntime(t), s, offset)
			if n := int(r.End - r.Start); err != nil || !slices.Equal(got, all[done+int(offset-r.Start):done+n]) {
				t.Errorf("replay of %s from %d gives %v, %v", r.File.Path, offset, got, err)
			}
		}
		done += int(r.End - r.Start)
		rest := 0
		for _, s := range connectortest.Splits(t, src, dataset.Cursor{Path: r.File.Path, End: r.End}) {
			rest += int(s.Ranges[0].End - s.Ranges[0].Start)
		}
		if done+rest != len(all) {
			t.Errorf("behind %s at %d come %d rows, want %d", r.File.Path, r.End, rest, len(all)-done)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, text := range []string{"numbers:", "numbers:-1", "numbers:many"} {
		_, err := Def.Open(context.Background(), []dataset.Pattern{{Text: text}}, Def.Zero())
		if err == nil || !strings.Contains(err.Error(), "is no count") {
			t.Errorf("%s: the error is %v", text, err)
		}
	}
	if _, err := Def.Open(context.Background(), nil, &Params{}); err == nil {
		t.Error("splits of nothing are accepted")
	}
}
