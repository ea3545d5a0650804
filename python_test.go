package sluice_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
)

// killer doubles numbers. The first process that meets 9000 kills the engine, once.
const killer = `
import os, signal
import pyarrow.compute as pc

def double(batch):
    mark = os.environ.get("MARK")
    if mark and 9000 in batch.column("n").to_pylist() and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getppid(), signal.SIGKILL)
    return {"twice": pc.multiply(batch.column("n"), 2)}

double.schema = {"twice": "int64"}
double.columns = ["n"]
`

// TestPythonResumes kills a run in the middle of a Python stage: the next one goes on, and every row is there once. Another code is another command.
func TestPythonResumes(t *testing.T) {
	python := connectortest.Python(t, "pyarrow")
	if python == "" {
		return
	}
	dir := t.TempDir()
	writeNumbers(t, dir, 8, 2000, false)
	code, target := filepath.Join(dir, "killer.py"), filepath.Join(dir, "out")+"/"
	if err := os.WriteFile(code, []byte(killer), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() (string, error) {
		cmd := sluiceCommand(t, "--to", "jsonl", "--part-size", "8KiB", "--commit-every", "1ms",
			fmt.Sprintf("%s/in-*.jsonl | python %s:double batch=100 processes=2 | select n, twice | %s", dir, code, target))
		cmd.Env = append(cmd.Env, "SLUICE_PYTHON="+python, "MARK="+filepath.Join(dir, "mark"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("it was not killed: %v\n%s", err, out)
	}
	if out, err := run(); err != nil {
		t.Fatalf("the second run: %v\n%s", err, out)
	}
	want := make([]string, 0, 16000)
	for n := range 16000 {
		want = append(want, fmt.Sprintf("0 . {\"n\":%d,\"twice\":%d}\n", n, 2*n))
	}
	got := linesIn(t, false, target)
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	seen := map[string]bool{}
	for _, g := range got {
		seen[g] = true
	}
	for _, w := range want {
		if !seen[w] {
			t.Fatalf("a row is missing: %s", w)
		}
	}
	nothingStaged(t, target)
	if out, err := run(); err != nil || !strings.Contains(out, "already complete") {
		t.Errorf("the same command again: %v\n%s", err, out)
	}
	if err := os.WriteFile(code, []byte(killer+"# other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err == nil || !strings.Contains(out, "code") {
		t.Errorf("another code: %v\n%s", err, out)
	}
}

// TestPythonLog looks for what a function prints and raises: it is in the file of --log and nowhere else; the summary has its last line.
func TestPythonLog(t *testing.T) {
	python := connectortest.Python(t, "pyarrow")
	if python == "" {
		return
	}
	dir := t.TempDir()
	writeNumbers(t, dir, 1, 10, false)
	code := "def f(row):\n    print('looking at', row['n'])\n    if row['n'] == 7:\n        raise ValueError('seven')\n    return {}\n\nf.schema = {}\n"
	if err := os.WriteFile(filepath.Join(dir, "f.py"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "run.log")
	cmd := sluiceCommand(t, "--on-error", "skip", "--log", log, fmt.Sprintf("%s/in-*.jsonl | python %s/f.py:f | select n | -", dir, dir))
	cmd.Env = append(cmd.Env, "SLUICE_PYTHON="+python)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if s := string(out); strings.Contains(s, "looking") || strings.Contains(s, "Traceback") || !strings.Contains(s, "ValueError: seven (f.py:4)") || strings.Contains(s, `{"n":7}`) {
		t.Errorf("it prints\n%s", s)
	}
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), "looking at 7") || !strings.Contains(string(text), "Traceback (most recent call last)") {
		t.Errorf("the log has %s (%v)", text, err)
	}
}
