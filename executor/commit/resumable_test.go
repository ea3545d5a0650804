package commit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// checkLogs tests the record that a resumed run relies on: the rows in the parts that the log names are those of the ranges that it
// names, each once.
func checkLogs(t *testing.T, w world) (generations int) {
	t.Helper()
	sink, err := w.sink()
	if err != nil {
		t.Fatal(err)
	}
	store, err := sink.(dataset.Target).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	logs, err := commit.OpenLogs(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	state := stateOf(w.Path)
	for run, l := range logs {
		if l.Finished || l.Deferred {
			continue // its parts may be published, or its ranges are all of them
		}
		generations += len(l.Parts)
		var got []string
		for _, p := range l.Parts {
			got = append(got, stagedRows(t, state, p)...)
		}
		sort.Strings(got)
		if want := w.rowsIn(l); !slices.Equal(got, want) {
			t.Fatalf("run %s: the log's parts hold %d rows, its ranges %d; they are not the same", run, len(got), len(want))
		}
	}
	return generations
}

func stagedRows(t *testing.T, state string, p dataset.Receipt) []string {
	t.Helper()
	var data struct{ Staged string }
	if err := json.Unmarshal(p.Data, &data); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(state, data.Staged))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := connectortest.TextRows(raw)
	if err != nil || int64(len(rows)) != p.Rows {
		t.Fatalf("%s: %d rows, the receipt says %d: %v", p.Name, len(rows), p.Rows, err)
	}
	for i, r := range rows {
		rows[i], _, _ = strings.Cut(r, "\t")
	}
	return rows
}

// rowsIn is the sorted rows that the filter keeps of the recorded ranges.
func (w world) rowsIn(l commit.Logged) []string {
	byPath := map[string]inputFile{}
	for _, f := range w.Files {
		byPath[f.Path] = f
	}
	var out []string
	for _, s := range l.Spans {
		f := byPath[l.Paths[s.Ordinal]]
		for r := s.First; r < min(s.End, uint64(f.Rows)); r++ {
			if w.keeps(f, int(r)) {
				out = append(out, rowText(f, int(r)))
			}
		}
	}
	sort.Strings(out)
	return out
}

// TestLogIsResumable kills runs at the end of the nth generation and checks the log against the parts.
func TestLogIsResumable(t *testing.T) {
	for name, w := range crashWorlds(quickDir(t)) {
		t.Run(name, func(t *testing.T) {
			w.PartBytes, w.Files = 1500, files(5, 800)
			seen := 0
			for hit := int64(1); hit < 12; hit += 3 {
				w.Seed = uint64(hit)
				w.Path = strings.TrimSuffix(w.Path, "/")
				w.Path = filepath.Join(filepath.Dir(w.Path), fmt.Sprint(hit)+filepath.Base(w.Path))
				if w.By || !strings.HasSuffix(w.Path, ".txt") {
					w.Path += "/"
				}
				if runChild(t, childJob{World: w, Point: "generation committed", Hit: hit}, 0) {
					seen += checkLogs(t, w)
				}
			}
			if seen == 0 && name != "barrier" {
				t.Error("no committed part was seen")
			}
		})
	}
}
