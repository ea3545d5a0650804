package nightly

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
)

// site is a machine with the command and folders for input and result.
type site struct {
	in, out, events string
	env             []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "sluice")
	if msg, err := exec.Command("go", "build", "-o", bin, "../../cmd/sluice").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, msg)
	}
	s := &site{in: filepath.Join(dir, "in"), out: filepath.Join(dir, "out") + "/", events: filepath.Join(dir, "events.jsonl")}
	s.env = append(os.Environ(), "SLUICE="+bin, "EVENTS="+s.events, "XDG_STATE_HOME="+dir)
	return s
}

// night adds a file of rows to the input. Every third is below the score; broken lines are no rows of the schema.
func (s *site) night(t *testing.T, name string, rows, broken int) {
	t.Helper()
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "{\"id\":%d,\"score\":%g,\"text\":\"%s %d\"}\n", i, []float64{0.9, 0.1, 0.5}[i%3], name, i)
	}
	for range broken {
		b.WriteString("{\"id\":\"no number\",\"score\":1,\"text\":\"x\"}\n")
	}
	if err := os.MkdirAll(s.in, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.in, name+".jsonl"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *site) run(t *testing.T, program ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(program[0], append(program[1:], s.in, s.out)...) //nolint:gosec // of this folder
	cmd.Env = s.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(raw) + stderr.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + stderr.String(), 0
}

// rows counts the rows of the result.
func (s *site) rows(t *testing.T) (n int) {
	t.Helper()
	parts, err := filepath.Glob(s.out + "*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(raw), "\n")
	}
	return n
}

// kinds are the types of the events of the last run, and the status it finished with.
func (s *site) kinds(t *testing.T) (types []string, status string) {
	t.Helper()
	raw, err := os.ReadFile(s.events)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var e struct {
			Type     string
			Finished struct{ Status string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		types, status = append(types, e.Type), e.Finished.Status
	}
	return types, status
}

// TestCron runs the script night after night.
func TestCron(t *testing.T) {
	s := newSite(t)
	for _, night := range []struct {
		name         string
		rows, broken int
		code, total  int
		status, says string
	}{
		{"monday", 300, 0, 0, 200, "ok", ""},
		{"", 0, 0, 0, 200, "ok", ""}, // nothing new
		{"tuesday", 600, 2, 0, 600, "dead-letters", "2 rows set aside"},
		{"wednesday", 30, 30, 1, 600, "failed", "failed with exit code 1"}, // half of the rows are broken
	} {
		if night.name != "" {
			s.night(t, night.name, night.rows, night.broken)
		}
		out, code := s.run(t, "./nightly.sh")
		if code != night.code || !strings.Contains(out, night.says) || night.says == "" && out != "" {
			t.Fatalf("%q: code %d, it says %s", night.name, code, out)
		}
		types, status := s.kinds(t)
		if status != night.status || types[0] != "started" || types[len(types)-1] != "finished" || slices.Contains(types, "committed") != (code == 0) {
			t.Errorf("%q: events %q, status %q", night.name, types, status)
		}
		if n := s.rows(t); n != night.total {
			t.Errorf("%q: the result has %d rows, want %d", night.name, n, night.total)
		}
	}
	s.night(t, "wednesday", 30, 0) // it was mended, and had not been read
	if out, code := s.run(t, "./nightly.sh"); code != 0 || s.rows(t) != 620 {
		t.Errorf("the mended night: code %d, %s; %d rows", code, out, s.rows(t))
	}
}

// TestTask runs the task of an orchestrator.
func TestTask(t *testing.T) {
	python := connectortest.Python(t, "json")
	if python == "" {
		return
	}
	s := newSite(t)
	task := func(wantCode int) map[string]any {
		t.Helper()
		out, code := s.run(t, python, "task.py")
		var got map[string]any
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != wantCode {
			t.Fatalf("code %d, %s: %v", code, out, err)
		}
		return got
	}
	if got := task(1); got["code"] != 2.0 || got["retry"] != false {
		t.Errorf("without input: %v", got)
	}
	s.night(t, "monday", 300, 1)
	if got := task(0); got["status"] != "dead-letters" || got["rows_written"] != 200.0 || got["rows_failed"] != 1.0 || len(got["targets"].(map[string]any)) != 1 {
		t.Errorf("the first night: %v", got)
	}
	if got := task(0); got["status"] != "ok" || got["rows_read"] != 0.0 {
		t.Errorf("nothing new: %v", got)
	}
	s.night(t, "tuesday", 3, 30)
	if got := task(1); got["code"] != 1.0 || got["retry"] != true || !strings.Contains(got["error"].(string), "max-error-rate") {
		t.Errorf("a rotten night: %v", got)
	}
	if n := s.rows(t); n != 200 {
		t.Errorf("the result has %d rows", n)
	}
}
