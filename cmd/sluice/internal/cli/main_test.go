package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asProgram makes the test binary be the program, so that tests drive a real process.
const asProgram = "SLUICE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(fakeProgram().Main(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// command is the program with arguments, in a folder of its own that holds three.jsonl.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"=1", "COLUMNS=80")
	c.Dir = t.TempDir()
	write(t, filepath.Join(c.Dir, "three.jsonl"), lineText(3))
	return c
}

func lineText(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":%d,"text":"t%d"}`+"\n", i, i)
	}
	return b.String()
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// outcome runs a command to its end.
func outcome(t *testing.T, c *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &out
	}
	c.Stderr = &errs
	if err := c.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return out.String(), errs.String(), code
}

func TestCommands(t *testing.T) {
	const three = "{\"id\":0,\"text\":\"t0\"}\n{\"id\":1,\"text\":\"t1\"}\n{\"id\":2,\"text\":\"t2\"}\n"
	const one = "{\"id\":0,\"text\":\"t0\"}\n"
	tests := []struct {
		name   string
		args   []string
		stdin  string
		code   int
		stdout string
		stderr string // contained
	}{
		{"prints", []string{"three.jsonl"}, "", 0, three, "read 3 rows, wrote 3 rows in 5 ms\n"},
		{"quiet", []string{"--quiet", "three.jsonl | limit 1"}, "", 0, one, ""},
		{"flags after", []string{"three.jsonl | limit 1 | -", "--quiet"}, "", 0, one, ""},
		{"standard input", []string{"- | limit 1 | -", "--quiet"}, lineText(9), 0, one, ""},
		{"standard input alone", []string{"--quiet", "-"}, one, 0, one, ""},
		{"forced", []string{"--quiet", "--", "- | limit 1"}, one, 0, one, ""},
		{"table", []string{"--to", "table", "three.jsonl | limit 2"}, "", 0,
			"   id  text\nint64  string\n    0  t0\n    1  t1\n2 rows\n", "read 3 rows, showed 2 rows in 5 ms\n"},
		{"table of a table", []string{"--to", "table", "three.jsonl | x.jsonl"}, "", 2, "", "leave the sink out"},
		{"writes", []string{"three.jsonl | out.jsonl"}, "", 0, "", "  out.jsonl: 3 rows, 1 B\n"},
		{"skips", []string{"--on-error=skip", "three.jsonl | fail | limit 1"}, "", 0, "{\"id\":1,\"text\":\"t1\"}\n",
			"1 row failed and was left out:\n  fail: odd: 1 row\n    x.jsonl at 7: it is odd\n"},
		{"fails", []string{"three.jsonl | fail"}, "", 1, "", "sluice: fail: it is odd\n"},
		{"ceiling of nothing", []string{"--max-errors=5", "three.jsonl"}, "", 2, "", "are ceilings for --on-error skip and dead-letter"},
		{"gone", []string{"none.jsonl"}, "", 1, "", "sluice: open none.jsonl: no such file or directory\n"},
		{"typo", []string{"three.jsonl | lmit 5"}, "", 2, "",
			"sluice: unknown step \"lmit\" (did you mean \"limit\"?)\n  three.jsonl | lmit 5\n                ^\n"},
		{"typo after stdin", []string{"- | lmit 5"}, "", 2, "", "\n  - | lmit 5\n      ^\n"},
		{"schema", []string{"three.jsonl | where idd > 5"}, "", 2, "",
			"sluice: where: no column \"idd\" (did you mean \"id\"?)\n  three.jsonl | where idd > 5\n                ^\n"},
		{"syntax", []string{"three.jsonl | where (id"}, "", 2, "", "\n  three.jsonl | where (id\n                      ^\n"},
		{"warning", []string{"three.jsonl + **.jsonl"}, "", 1, "", "warning: **.jsonl: **.jsonl does not look into folders; for that write **/*.jsonl"},
		{"no quotes", []string{"three.jsonl", "x"}, "", 2, "", "put it in quotes: sluice 'three.jsonl x'"},
		{"unknown flag", []string{"--memroy", "1GB", "x"}, "", 2, "", "sluice: unknown flag: --memroy (did you mean \"--memory\"?); see sluice --help\n"},
		{"bad size", []string{"--memory", "x", "x"}, "", 2, "", "such as 256MiB"},
		{"set", []string{"--set", "a=b", "three.jsonl"}, "", 2, "", "--set is for job files"},
		{"nearly a command", []string{"verison"}, "", 2, "", `there is no command or source "verison" (did you mean "version"?)`},
		{"unknown file", []string{"three.xyz"}, "", 2, "", "name its reader with --from (jsonl)"},
		{"from", []string{"--quiet", "--from", "jsonl", "./three.jsonl | limit 1"}, "", 0, one, ""},
		{"job", []string{"run", "job.yaml", "--set", "n=1", "--quiet"}, "", 0, one, ""},
		{"job unset", []string{"run", "job.yaml"}, "", 2, "", "sluice: job.yaml:4:10: the placeholder {n} has no value"},
		{"job gone", []string{"run", "nojob.yaml"}, "", 2, "", "sluice: read job nojob.yaml: no such file or directory\n"},
		{"job missing", []string{"run"}, "", 2, "", "sluice run takes one job file; it got 0 arguments"},
		{"ops", []string{"ops"}, "", 0, "Steps\n  fail   Fake fail.\n  hang   Fake hang.\n  limit  Pass the first rows on.\n  wait   Fake wait.\n" +
			"  where  Keep rows.\n\nReaders\n  jsonl  JSON lines. (.jsonl, .ndjson)\n\nWriters\n  jsonl  JSON lines. (.jsonl)\n", ""},
		{"ops limit", []string{"ops", "limit"}, "", 0, "limit [N] (step)\n\nPass the first rows on.\n\nIt stops the source.\n\n" +
			"Parameters:\n  n  whole number  how many (default 10)\n\nExample:\n  limit 10\n", ""},
		{"ops jsonl", []string{"ops", "jsonl"}, "", 0, "jsonl (reader)\n\nJSON lines.\n\nExtensions: .jsonl, .ndjson\n\n" +
			"Options, as name=value:\n  n  whole number  how many (default 3)\n\njsonl (writer)\n\nJSON lines.\n\nExtensions: .jsonl\n", ""},
		{"ops unknown", []string{"ops", "lmit"}, "", 2, "", `there is no step, reader or writer "lmit" (did you mean "limit"?)`},
		{"completion", []string{"__complete", "ops", "li"}, "", 0, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := command(t, tt.args...)
			write(t, filepath.Join(c.Dir, "job.yaml"), "version: 1\nsource: three.jsonl\nsteps:\n- limit: '{n}'\n")
			c.Stdin = strings.NewReader(tt.stdin)
			stdout, stderr, code := outcome(t, c)
			if code != tt.code || stdout != tt.stdout && tt.name != "completion" || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && tt.name != "completion" && stderr != "" {
				t.Errorf("code %d, want %d\nstdout:\n%s\nwant:\n%s\nstderr:\n%s\nwant:\n%s", code, tt.code, stdout, tt.stdout, stderr, tt.stderr)
			}
			if tt.name == "completion" && !strings.HasPrefix(stdout, "fail\tFake fail.\n") {
				t.Errorf("completion: %s", stdout)
			}
		})
	}
}

func TestVersionAndHelp(t *testing.T) {
	stdout, _, code := outcome(t, command(t, "version"))
	if code != 0 || !strings.HasPrefix(stdout, "sluice  v1.2.3\ngo      go") || !strings.HasSuffix(stdout, "\njpeg    libjpeg-turbo 3.1\n") {
		t.Errorf("version %d:\n%s", code, stdout)
	}
	for _, args := range [][]string{nil, {"--help"}} {
		stdout, stderr, code := outcome(t, command(t, args...))
		if code != 0 || stderr != "" || !strings.Contains(stdout, "sluice [flags] 'SOURCE | STEP | … | SINK'") || !strings.Contains(stdout, "--temp-limit") {
			t.Errorf("%v: %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

func TestStdinFromAFileIsReadWhole(t *testing.T) {
	c := command(t, "--quiet", "- | limit 1")
	f, err := os.Open(filepath.Join(c.Dir, "three.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c.Stdin = f
	stdout, stderr, code := outcome(t, c)
	if code != 0 || stdout != "{\"id\":0,\"text\":\"t0\"}\n" || stderr != "" {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}
}

func TestBrokenPipeIsQuiet(t *testing.T) {
	for _, args := range [][]string{{"three.jsonl"}, {"--to=table", "three.jsonl"}, {"ops"}, {"explain", "three.jsonl"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		c := command(t, args...)
		c.Stdout = w
		_, stderr, code := outcome(t, c)
		w.Close()
		if code != 0 || stderr != "" {
			t.Errorf("%v: code %d, %s", args, code, stderr)
		}
	}
}

// interrupted starts a pipeline that waits and sends it signals, each after the program has said something.
func interrupted(t *testing.T, step string, signals int) (string, int) {
	t.Helper()
	c := command(t, "three.jsonl | "+step)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for sc := bufio.NewScanner(errs); sc.Scan(); {
		said.WriteString(sc.Text() + "\n")
		if text := sc.Text(); signals > 0 && (text == "waiting" || strings.HasPrefix(text, "sluice: interrupted;")) {
			signals--
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = c.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("it ended with %v", err)
	}
	return said.String(), exit.ExitCode()
}

func TestInterrupts(t *testing.T) {
	tests := []struct {
		step    string
		signals int
		want    string
	}{
		{"wait", 1, "waiting\n\nsluice: interrupted; finishing what can be committed (again to stop at once)\nsluice: interrupted\n"},
		{"hang", 2, "waiting\n\nsluice: interrupted; finishing what can be committed (again to stop at once)\n"},
	}
	for _, tt := range tests {
		said, code := interrupted(t, tt.step, tt.signals)
		if code != 130 || said != tt.want {
			t.Errorf("%s: code %d\n%s", tt.step, code, said)
		}
	}
}
