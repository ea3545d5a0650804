package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asProgram makes the test binary be the program, so that tests drive the real thing without building it twice.
const asProgram = "SLUICE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	state, err := os.MkdirTemp("", "sluice-state-*") // the index of results is not for tests to write
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", state)
	code := m.Run()
	os.RemoveAll(state)
	os.Exit(code)
}

// run runs the program in a folder and returns what it said.
func run(t *testing.T, dir, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := command(t, dir, args...)
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
	if err := c.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return out.String(), errs.String(), code
}

func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"=1", "COLUMNS=100")
	c.Dir = dir
	return c
}

// events makes a folder with events.jsonl.
func events(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":%d,"text":"text %d","score":%g,"lang":"%s"}`+"\n", i, i, float64(i%10)/10, []string{"de", "en"}[i%2])
	}
	write(t, filepath.Join(dir, "events.jsonl"), b.String())
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// photos makes a folder with a link to the sample photos.
func photos(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	samples, err := filepath.Abs("../../testdata/photos")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "photos"), os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOneLinersOnEvents(t *testing.T) {
	dir := events(t, 20)
	data, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args  []string
		stdin string
		want  string
	}{
		{[]string{`events.jsonl | where score > 0.7 and lang == "de" | select id, text | -`}, "",
			"{\"id\":8,\"text\":\"text 8\"}\n{\"id\":18,\"text\":\"text 18\"}\n"},
		{[]string{`- | limit 1 | -`}, string(data), "{\"id\":0,\"text\":\"text 0\",\"score\":0.0,\"lang\":\"de\"}\n"},
		{[]string{`events.jsonl | with len = length(text) | sort score desc, id | limit 2 | select id, len`}, "",
			"{\"id\":9,\"len\":6}\n{\"id\":19,\"len\":7}\n"},
		{[]string{`events.jsonl | where score > 0.7 || id == 0 | drop text, lang | rename id n | limit 2`}, "",
			"{\"n\":0,\"score\":0.0}\n{\"n\":8,\"score\":0.8}\n"},
		{[]string{`"events.jsonl" + glob("ev*.jsonl") | limit 41 | where id == 3 | select id`}, "", "{\"id\":3}\n"},
		{[]string{"--to", "table", `events.jsonl | limit 2`}, "",
			"   id  text      score  lang\nint64  string  float64  string\n    0  text 0        0  de\n    1  text 1      0.1  en\n2 rows\n"},
	}
	for _, tt := range tests {
		stdout, stderr, code := run(t, dir, tt.stdin, append([]string{"--quiet"}, tt.args...)...)
		if code != 0 || stdout != tt.want || stderr != "" {
			t.Errorf("%q: code %d\n%s%s\nwant\n%s", tt.args, code, stdout, stderr, tt.want)
		}
	}
}

func TestMistakesAreUsageErrors(t *testing.T) {
	dir := events(t, 20)
	tests := []struct {
		pipeline string
		stderr   string
	}{
		{"events.jsonl | where scor > 1", "sluice: where: unknown column \"scor\"; did you mean \"score\"?\n  events.jsonl | where scor > 1\n                       ^\n"},
		{"events.jsonl | where score >", "\n  events.jsonl | where score >\n                             ^\n"},
		{"events.jsonl | with x = 1 + scor", "\n  events.jsonl | with x = 1 + scor\n                              ^\n"},
		{"events.jsonl | slect id", "sluice: unknown step \"slect\" (did you mean \"select\"?)\n"},
		{"events.jsonl | select idd", "did you mean \"id\""},
		{"events.jsonl | limit -1", "\n  events.jsonl | limit -1\n                 ^\n"},
		{"events.jsonl extr=error | limit 1", "did you mean \"extra\""},
		{"events.jsonl | out.xyz", ".xyz is no known extension"},
		{"events.jsonl | resize 0x0", "\n                 ^\n"},
		{"nothing-*.jsonl", "nothing-*.jsonl"},
	}
	for _, tt := range tests {
		stdout, stderr, code := run(t, dir, "", tt.pipeline)
		if code != 2 && tt.pipeline != "nothing-*.jsonl" || code == 0 || stdout != "" || !strings.Contains(stderr, tt.stderr) || !strings.HasPrefix(stderr, "sluice: ") {
			t.Errorf("%s: code %d\n%s%s\nwant\n%s", tt.pipeline, code, stdout, stderr, tt.stderr)
		}
	}
}

func TestSameCommandAgain(t *testing.T) {
	dir := events(t, 20)
	const pipeline = "events.jsonl | limit 5 | out.jsonl"
	for i, want := range []string{"wrote 5 rows", "already complete"} {
		if _, stderr, code := run(t, dir, "", pipeline); code != 0 || !strings.Contains(stderr, want) {
			t.Errorf("run %d: code %d, %s", i, code, stderr)
		}
	}
	if _, stderr, code := run(t, dir, "", "events.jsonl | limit 6 | out.jsonl"); code != 2 || !strings.Contains(stderr, "--overwrite") {
		t.Errorf("another plan: code %d, %s", code, stderr)
	}
	if _, stderr, code := run(t, dir, "", "events.jsonl | limit 6 | out.jsonl", "--overwrite"); code != 0 || !strings.Contains(stderr, "wrote 6 rows") {
		t.Errorf("overwrite: code %d, %s", code, stderr)
	}
	data, err := os.ReadFile(filepath.Join(dir, "out.jsonl"))
	if err != nil || bytes.Count(data, []byte("\n")) != 6 {
		t.Errorf("out.jsonl: %s, %v", data, err)
	}
}

func TestJobFile(t *testing.T) {
	dir := events(t, 20)
	write(t, filepath.Join(dir, "job.yaml"), `version: 1
source: "{in}.jsonl"
steps:
  - where: score > 0.7 and lang == "de"
  - select: [id, score]
  - limit: {rows: 1}
sink: {path: "-"}
`)
	stdout, stderr, code := run(t, dir, "", "run", "job.yaml", "--set", "in=events", "--quiet")
	if code != 0 || stdout != "{\"id\":8,\"score\":0.8}\n" || stderr != "" {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
	write(t, filepath.Join(dir, "bad.yaml"), "version: 1\nsource: events.jsonl\nsteps:\n  - where: scor > 1\n")
	if _, stderr, code := run(t, dir, "", "run", "bad.yaml"); code != 2 || !strings.HasPrefix(stderr, "sluice: bad.yaml:4:12: where: unknown column") {
		t.Errorf("code %d, %s", code, stderr)
	}
}

func TestBrokenPhotosArePassedOver(t *testing.T) {
	dir := photos(t)
	const pipeline = "photos/**/*.{jpg,png,webp} | decode | where width >= 256 | resize 64x64 | encode jpeg 75 | select path, image, width | sort path"
	stdout, stderr, code := run(t, dir, "", "--on-error", "skip", "--to", "table", pipeline)
	if code != 0 || !strings.Contains(stdout, "photos/astronaut.jpg") || !strings.Contains(stdout, "JPEG 64x64 ") {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{"4 rows failed and were left out:\n", "not an image: 1 row\n    photos/broken/not-an-image.jpg: ", "truncated: 1 row\n"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in\n%s", want, stderr)
		}
	}
	if _, stderr, code := run(t, dir, "", pipeline); code != 1 || !strings.HasPrefix(stderr, "sluice: decode") || strings.Count(stderr, "\n") != 2 { // the cause, and the way out
		t.Errorf("code %d\n%s", code, stderr)
	}
}

func TestPhotosToParquetAndBack(t *testing.T) {
	dir := photos(t)
	const pipeline = "photos/**/*.{jpg,png,webp} | decode | where width >= 256 | resize 224x224 | out.parquet"
	_, stderr, code := run(t, dir, "", "--on-error", "skip", "--memory", "256MiB", pipeline)
	if code != 0 || !strings.Contains(stderr, "  out.parquet: 18 rows, ") {
		t.Errorf("code %d\n%s", code, stderr)
	}
	stdout, stderr, code := run(t, dir, "", "--quiet", "--to", "table", `out.parquet | where format == "png" | sort path | select path, image, width`)
	head := "path                         image             width\nstring                       pixels            int32\n"
	const last = "photos/sub/camera-16bit.png  pixels 224x224x3    512\n"
	if code != 0 || stderr != "" || !strings.HasPrefix(stdout, head) || !strings.Contains(stdout, last) {
		t.Errorf("code %d\n%s%s", code, stdout, stderr)
	}
	if _, stderr, code := run(t, dir, "", "--quiet", "out.parquet + photos/cat.jpg"); code != 2 || !strings.Contains(stderr, "out.parquet is read by parquet and photos/cat.jpg by images") {
		t.Errorf("two readers: code %d, %s", code, stderr)
	}
	if _, stderr, code := run(t, dir, "", "--quiet", "photos/"); code != 2 || !strings.Contains(stderr, "name its reader with --from") {
		t.Errorf("a mixed folder: code %d, %s", code, stderr)
	}
}

func TestFolderResults(t *testing.T) {
	dir := events(t, 20)
	if _, stderr, code := run(t, dir, "", "--quiet", "--memory", "256MiB", "events.jsonl | with len = length(text) | sort score desc, id | out/"); code != 0 || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, source := range []string{"out/", "out", "out/part-*.parquet", `"out"`} {
		stdout, stderr, code := run(t, dir, "", "--quiet", source+" | limit 1 | select id, len")
		if code != 0 || stdout != "{\"id\":9,\"len\":6}\n" || stderr != "" {
			t.Errorf("%s: code %d\n%s%s", source, code, stdout, stderr)
		}
	}
}

func TestInterruptLeavesNothingHalfWritten(t *testing.T) {
	dir := events(t, 1)
	c := command(t, dir, "- | out.jsonl")
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"id":1,"text":"` + strings.Repeat("x", 1000) + `"}` + "\n")
	for range 4096 { // more than pipes and buffers hold, so that the run is under way
		if _, err := stdin.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for sc := bufio.NewScanner(errs); sc.Scan(); {
		said.WriteString(sc.Text() + "\n")
		if strings.Contains(sc.Text(), "interrupted;") {
			stdin.Close() // a read of a pipe ends only with the pipe
		}
	}
	// The end of the input may overtake the interrupt: then the result is whole, else there is none.
	err = c.Wait()
	data, readErr := os.ReadFile(filepath.Join(dir, "out.jsonl"))
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed && exit.ExitCode() == 130 && errors.Is(readErr, os.ErrNotExist):
	case err == nil && len(data) == 4096*len(line):
	default:
		t.Errorf("it ended with %v, out.jsonl has %d bytes (%v): %s", err, len(data), readErr, said.String())
	}
}

func TestReaderThatHasSeenEnough(t *testing.T) {
	dir := events(t, 200_000)
	c := command(t, dir, "events.jsonl")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if err := c.Wait(); err != nil || strings.Contains(errs.String(), "pipe") {
		t.Errorf("it ended with %v: %s", err, errs.String())
	}
}

func TestVersionExplainOps(t *testing.T) {
	dir := events(t, 3)
	for _, tt := range []struct{ args, want string }{
		{"version", "\njpeg"}, {"ops", "where"}, {"ops resize", "resize SIZE"}, {"explain events.jsonl", "jsonl"},
	} {
		stdout, stderr, code := run(t, dir, "", strings.Fields(tt.args)...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, tt.want) {
			t.Errorf("%s: code %d\n%s%s", tt.args, code, stdout, stderr)
		}
	}
}
