package python

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// TestRowsFail has one row of eight bring its batch down, in every way there is: only that row may be lost.
func TestRowsFail(t *testing.T) {
	for _, c := range []struct {
		name, cause, class string
		opts               []Option
	}{
		{"raises", "ValueError: three is not wanted at all (udf.py:", "ValueError", nil},
		{"exits", "SystemExit: 3", "SystemExit", nil},
		{"leaves", "the process ended with status 7", "process ended", nil},
		{"killed", "killed by signal 9 (killed); perhaps by the system", "process killed (SIGKILL)", nil},
		{"segfaults", "killed by signal 11 (segmentation fault)", "process killed (SIGSEGV)", nil},
		{"hangs", "took longer than timeout=1s", "timeout", []Option{Timeout(time.Second)}},
		{"hangs_with_lock", "took longer than timeout=1s", "timeout", []Option{Timeout(time.Second)}},
		{"forks", "ValueError: the parent goes on", "ValueError", nil},
		{"recurses", "RecursionError: maximum recursion depth exceeded", "RecursionError", nil},
		{"grows", "above its limit of 300 MiB (memory=)", "process memory", []Option{Memory(300 << 20)}},
		{"wrong_value", "ArrowInvalid: ", "pyarrow.lib.ArrowInvalid", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log dt.Journal
			r, _ := run(t, udf(t, c.name, append(c.opts, Only())...), 8, dt.Config{Logger: log.Logger()})
			if got, want := strings.Join(r.Rows(), " "), "0 1 2 4 5 6 7"; got != want {
				t.Errorf("rows are %s, want %s", got, want)
			}
			causes := r.Causes()
			if len(causes) != 1 || !strings.HasPrefix(causes[0], "1:3: ") || !strings.Contains(causes[0], c.cause) {
				t.Fatalf("failures are %q, want %q", causes, c.cause)
			}
			if class := dataset.ClassOf(r.Failures[0].Err); class != c.class {
				t.Errorf("it is counted as %q, want %q", class, c.class)
			}
			if c.class == "ValueError" && !strings.Contains(log.String(), "Traceback (most recent call last)") {
				t.Errorf("the traceback is not in the log:\n%s", log.String())
			}
		})
	}
}

// TestRowsThatTheFunctionMarks fails rows by what the function says of each.
func TestRowsThatTheFunctionMarks(t *testing.T) {
	for _, c := range []struct{ name, rows, cause, class string }{
		{"mark_errors", "0 2 4", "1:1: BadRow: it is odd|1:3: BadRow: it is odd", "BadRow"},
		{"by_row", "0 | \"row 0 ä€😀\" 1 | \"row 1 ä€😀\" 1 | \"a\" 2 | \"b\"", "1:3: KeyError: 'no threes' (udf.py:", "KeyError"},
		{"too_large", "0 1 2 3 4", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := run(t, udf(t, c.name, Only()), 5, dt.Config{})
			if got := strings.Join(r.Rows(), " "); got != c.rows {
				t.Errorf("rows are %s, want %s", got, c.rows)
			}
			if got := strings.Join(r.Causes(), "|"); !strings.HasPrefix(got, c.cause) || c.cause == "" && got != "" {
				t.Errorf("failures are %s, want %s", got, c.cause)
			}
			if c.class != "" && dataset.ClassOf(r.Failures[0].Err) != c.class {
				t.Errorf("it is counted as %q, want %q", dataset.ClassOf(r.Failures[0].Err), c.class)
			}
		})
	}
}

// TestValuesThatDoNotFit fails the rows whose values the type of the schema cannot hold.
func TestValuesThatDoNotFit(t *testing.T) {
	r, _ := run(t, udf(t, "too_large", Only()), 130, dt.Config{})
	if r.NumRows() != 128 || len(r.Failures) != 2 {
		t.Errorf("%d rows came out, failures %v", r.NumRows(), r.Causes())
	}
}

// TestNotDividedWhenRandom fails the whole batch of a function that says it is not deterministic.
func TestNotDividedWhenRandom(t *testing.T) {
	r, _ := run(t, udf(t, "raises_at_random", Batch(4), Only()), 8, dt.Config{})
	if got := strings.Join(r.Rows(), " "); got != "4 5 6 7" || len(r.Failures) != 4 {
		t.Errorf("rows are %s, failures %v", got, r.Causes())
	}
}

// TestSecondChance has a process die once for reasons of its own: nothing is lost, not even of a batch of one row.
func TestSecondChance(t *testing.T) {
	for _, opts := range [][]Option{{Batch(1)}, {Nondeterministic()}, nil} {
		t.Setenv("MARK", filepath.Join(t.TempDir(), "mark"))
		r, _ := run(t, udf(t, "dies_once", append(opts, Processes(1))...), 6, dt.Config{})
		if r.NumRows() != 6 || len(r.Failures) > 0 {
			t.Errorf("%d rows came out, failures %v", r.NumRows(), r.Causes())
		}
	}
}

// TestMistakes end the run, whatever the policy for rows.
func TestMistakes(t *testing.T) {
	for name, want := range map[string]string{
		"wrong_count":  "returned 1 rows for 5; return one for each, or a column '_parent'",
		"wrong_type":   "returned column 'n' as string, its schema says int64",
		"no_column":    "returned no column 'n', which its schema has",
		"extra_column": "returned column 'm', which its schema lacks",
		"uneven":       "returned columns of different lengths: n 5, m 6",
		"none":         "returned None; it returns a record batch, a table or a dict of columns",
		"a_list":       "returned a list; it returns a dict of columns",
		"bad_parent":   "gave _parent 5 for a batch of 5 rows",
		"null_parent":  "column '_parent' holds the numbers of input rows: there is a null",
		"FailsToLoad":  "start testdata/udf.py:FailsToLoad: RuntimeError: no model (udf.py:",
		"DiesToLoad":   "start testdata/udf.py:DiesToLoad: the process ended with status 5",
		"LoadsForever": "loading takes longer than start_timeout=5s",
	} {
		t.Run(name, func(t *testing.T) {
			var opts []Option
			if name == "LoadsForever" {
				opts = []Option{StartTimeout(5 * time.Second)}
			}
			r, _ := run(t, udf(t, name, opts...), 5, dt.Config{WantError: true})
			if r.Err == nil || !strings.Contains(r.Err.Error(), want) {
				t.Errorf("the error is %v, want %q", r.Err, want)
			}
			if len(r.Failures) > 0 {
				t.Errorf("rows are blamed: %v", r.Causes())
			}
		})
	}
}

// TestPlanErrors are found before anything runs.
func TestPlanErrors(t *testing.T) {
	py := python(t)
	for _, c := range []struct {
		target, want string
		opts         []Option
	}{
		{"testdata/udf.py:no_schema", `does not say which columns it returns: give it an attribute such as schema = {"score": "float64"}`, nil},
		{"testdata/udf.py:Nope", "has no Nope", nil},
		{"testdata/udf.py:not_callable", "neither a class nor a function", nil},
		{"testdata/udf.py:NoCall", "class NoCall has neither __call__ nor process", nil},
		{"testdata/udf.py:misspelt", `unknown type "flot64" (did you mean "float64"?)`, nil},
		{"testdata/udf.py:taken_name", `column "_parent" is named twice, or has a name that is taken`, nil},
		{"testdata/udf.py:no_input", `no column "nope"`, nil},
		{"testdata/udf.py:odd_schema", "schema is int; it is a dict of names and types", nil},
		{"testdata/udf.py:odd_takes", "takes = 'rows': there are batch", nil},
		{"testdata/udf.py:no_argument", "takes no argument; it gets the batch", nil},
		{"testdata/broken_syntax.py:f", "SyntaxError: ", nil},
		{"testdata/broken_import.py:f", "ModuleNotFoundError: No module named 'no_such_module_at_all' (broken_import.py:1)", nil},
		{"testdata/dies_on_import.py:f", "ended with status 4 in the middle of a call; it said: about to leave", nil},
		{"testdata/none.py:f", "there is no file testdata/none.py", nil},
		{"no_such_module:f", "ModuleNotFoundError: No module named 'no_such_module'", nil},
		{"udf", "names no class or function: write module:Name", nil},
		{"testdata/udf.py:raises", "is a function, not a class", nil},
		{"testdata/udf.py:raises", "no such folder is no virtual environment: make it with python3 -m venv", []Option{Venv("no such folder")}},
		{"testdata/udf.py:raises", "testdata is no virtual environment", []Option{Venv("testdata")}},
		{"testdata/udf.py:raises", `schema="n"`, []Option{Schema("n")}},
		{"testdata/udf.py:raises", "takes=numpi: there are", []Option{Takes("numpi")}},
		{"testdata/udf.py:raises", "processes=-1", []Option{Processes(-1)}},
		{"testdata/udf.py:raises", "timeout=0s", []Option{Timeout(0)}},
		{"testdata/udf.py:raises", "args: only what JSON can say", []Option{Arg("f", func() {})}},
	} {
		t.Run(c.target, func(t *testing.T) {
			s := Class(c.target, append([]Option{Venv(py)}, c.opts...)...)
			if !strings.Contains(c.want, "not a class") {
				anyKind(s)
			}
			if _, err := s.Check([]*arrow.Schema{table}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

// TestNoPyarrow says what to install.
func TestNoPyarrow(t *testing.T) {
	dir := t.TempDir()
	fake := filepath.Join(dir, "python")
	script := "#!/bin/sh\nexec " + python(t) + " -S -E \"$@\"\n" // without site-packages
	if err := os.WriteFile(fake, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Func("testdata/udf.py:raises", Venv(fake)).Check([]*arrow.Schema{table})
	if err == nil || !strings.Contains(err.Error(), "cannot import pyarrow") || !strings.Contains(err.Error(), "-m pip install pyarrow") {
		t.Errorf("the error is %v", err)
	}
}

// TestPrinting has a function print a lot: it neither blocks nor reaches our streams, and the log has its beginning.
func TestPrinting(t *testing.T) {
	var log dt.Journal
	r, _ := run(t, udf(t, "prints"), 3, dt.Config{Logger: log.Logger()})
	if r.NumRows() != 3 {
		t.Errorf("%d rows came out", r.NumRows())
	}
	text := log.String()
	if n := strings.Count(text, "python output"); n < child.MaxLines || n > child.MaxLines+10 {
		t.Errorf("%d lines were logged", n)
	}
	if !strings.Contains(text, "python output was cut") {
		t.Error("it is not said that there was more")
	}
}

// TestCancel ends a run in the middle of a call.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var log dt.Journal
	s := udf(t, "hangs", Processes(1))
	hung := make(chan struct{})
	go func() {
		defer close(hung)
		until(ctx, func() bool { return busy(children(os.Getpid())) })
		cancel(errors.New("enough"))
	}()
	r, _ := run(t, s, 8, dt.Config{Context: ctx, WantError: true, Logger: log.Logger()})
	<-hung
	if r.Err == nil {
		t.Error("the run ended well")
	}
}

// busy says whether one of the processes sleeps in a call: the interpreter has two threads then and waits for the clock.
func busy(pids []string) bool {
	for _, p := range pids {
		wait, err := os.ReadFile("/proc/" + p + "/wchan")
		if err == nil && strings.Contains(string(wait), "nanosleep") {
			return true
		}
		sys, err := os.ReadFile("/proc/" + p + "/syscall")
		if err == nil && (strings.HasPrefix(string(sys), strconv.Itoa(syscall.SYS_CLOCK_NANOSLEEP)+" ") || strings.HasPrefix(string(sys), strconv.Itoa(syscall.SYS_SELECT)+" ")) {
			return true
		}
	}
	return false
}

// TestBudgetIsKept lets further processes start only when the budget has room for them.
func TestBudgetIsKept(t *testing.T) {
	mem := arraytest.NewMemory(t)
	s := udf(t, "arrays", Batch(1), Processes(4))
	r := dt.Run(t, mem, s, dt.Config{Budget: 1 << 20}, rows(t, mem, 200))
	if r.NumRows() != 200 {
		t.Errorf("%d rows came out", r.NumRows())
	}
	if r.PeakReserved > 1<<20 {
		t.Errorf("%d bytes were reserved", r.PeakReserved)
	}
	mem = arraytest.NewMemory(t)
	r = dt.Run(t, mem, udf(t, "arrays", Batch(1), Processes(3)), dt.Config{}, rows(t, mem, 200))
	if r.NumRows() != 200 || r.PeakReserved < 20<<20 {
		t.Errorf("%d rows came out, %d bytes were reserved for further processes", r.NumRows(), r.PeakReserved)
	}
}

func TestArgsAsText(t *testing.T) {
	for text, want := range map[string]string{
		"a:1, b: x y, c:[1, 2], d:true, e:null": `{"a":1,"b":"x y","c":[1,2],"d":true,"e":null}`,
		`{"a": {"b": 1.5}}`:                     `{"a":{"b":1.5}}`,
		"a":                                     "error: \"a\" is not of the form name:value",
		"{":                                     "error: want an object",
	} {
		var a Args
		got := ""
		if err := a.UnmarshalText([]byte(text)); err != nil {
			got = "error: " + err.Error()
		} else {
			got = a.String()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// TestManyBatches has all calls come back, in whatever order, and loses no row.
func TestManyBatches(t *testing.T) {
	r, _ := run(t, udf(t, "arrays", Batch(7), Processes(3), Only()), 2000, dt.Config{})
	got := r.Rows()
	slices.SortFunc(got, func(a, b string) int { return len(a)*1000000 + atoi(a) - len(b)*1000000 - atoi(b) })
	for i, s := range got {
		if s != fmt.Sprint(i) {
			t.Fatalf("row %d is %s", i, s)
		}
	}
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }
