package sluice_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// read reads a folder with the command and returns its sorted lines, or what was said instead.
func readResult(t *testing.T, folder string) (lines []string, refused string) {
	t.Helper()
	cmd := sluiceCommand(t, "--quiet", "--from", "jsonl", folder+" | select n")
	out, err := cmd.Output()
	if err != nil {
		var text strings.Builder
		again := sluiceCommand(t, "--quiet", "--from", "jsonl", folder+" | select n")
		again.Stderr = &text
		if again.Run() == nil {
			t.Fatal("it failed once")
		}
		return nil, text.String()
	}
	lines = slices.Collect(strings.Lines(string(out)))
	slices.Sort(lines)
	return lines, ""
}

// TestReadersTrustManifests: while a run publishes, a reader of ours sees the old result or the new one, or is refused; never a mix, and
// never a part of a first result. What lies in the folder besides is no data.
func TestReadersTrustManifests(t *testing.T) {
	in := t.TempDir()
	writeNumbers(t, in, 8, 6000, false)
	points := []string{"run begun", "result joined", "finish decided", "manifest created", "old parts removed", "parts published", "target sealed", "stage removed"}
	for _, target := range []string{"out/", "out.jsonl"} { // the second becomes a folder of that name
		calm := local(t.TempDir())
		before := crashPlan{steps: "where n % 2 == 0", target: target}
		after := crashPlan{steps: "where n % 3 != 0", target: target, flags: []string{"--overwrite"}}
		before.finish(t, calm, in, 2, 64)
		folder := before.results(calm)[0]
		old, _ := readResult(t, folder)
		after.finish(t, calm, in, 2, 64)
		fresh, _ := readResult(t, folder)
		if len(old) != 24_000 || len(fresh) != 32_000 {
			t.Fatalf("%s: %d and %d rows", target, len(old), len(fresh))
		}
		for _, point := range points {
			for _, first := range []bool{true, false} {
				if first && point != "parts published" && point != "manifest created" {
					continue // nothing is visible before, and everything behind
				}
				at := local(t.TempDir())
				if !first {
					before.finish(t, at, in, 2, 64)
				}
				cmd := after.command(t, at, in, 2, 64)
				cmd.Env = append(cmd.Env, "SLUICE_CRASHPOINT="+point+":1")
				_ = cmd.Run() // it is killed, or never passes there
				folder := after.results(at)[0]
				if _, err := os.Stat(folder); err != nil && first {
					continue
				}
				got, refused := readResult(t, folder)
				switch {
				case refused != "" && (strings.Contains(refused, "its manifests list") || first && strings.Contains(refused, "holds no files")):
				case refused != "":
					t.Errorf("%s, killed at %q: %s", target, point, refused)
				case !slices.Equal(got, fresh) && (first || !slices.Equal(got, old)):
					t.Errorf("%s, killed at %q: %d rows, which are neither the old result nor the new one", target, point, len(got))
				}
				after.finish(t, at, in, 2, 64)
				if err := os.WriteFile(filepath.Join(folder, "part-9.jsonl"), []byte("{\"n\":-1}\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				if got, refused = readResult(t, folder); !slices.Equal(got, fresh) {
					t.Errorf("%s, in the end: %d rows, %s", target, len(got), refused)
				}
			}
		}
	}
}
