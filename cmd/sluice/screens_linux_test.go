package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"
)

var updateScreens = flag.Bool("update-screens", false, "write the screens of testdata anew")

// pseudo opens a pseudo terminal of a size.
func pseudo(t *testing.T, width, height int) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	winsize(t, ours, width, height)
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

func winsize(t *testing.T, f *os.File, width, height int) {
	t.Helper()
	size := &unix.Winsize{Row: uint16(height), Col: uint16(width)} //nolint:gosec // small
	if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
}

// onTerminal runs the program on a terminal of its own and returns what it wrote, and what the screen shows at the end.
func onTerminal(t *testing.T, dir string, width int, env []string, args ...string) (raw, screen string) {
	t.Helper()
	ours, theirs := pseudo(t, width, 60)
	c := command(t, dir, args...)
	c.Env = append(c.Env, env...)
	c.Stdin, c.Stdout, c.Stderr = nil, theirs, theirs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	all, err := io.ReadAll(ours) // ends with EIO when the last writer has gone
	if err != nil && !strings.Contains(err.Error(), "input/output error") {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, all)
	}
	vt := vt10x.New(vt10x.WithSize(width, 60))
	_, _ = vt.Write(all)
	return string(all), screenText(vt)
}

// screenText is a screen without blanks at the ends of lines and of the screen.
func screenText(vt vt10x.Terminal) string {
	lines := strings.Split(vt.String(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// screenFolder holds rows with nested values, null, and long text.
func screenFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), `{"id":1,"text":"Guten Morgen","tags":["greeting"],"user":{"name":"Ada","age":36}}
{"id":2,"text":"`+strings.Repeat("A long sentence. ", 20)+`","tags":[],"user":{"name":"Bob","age":52}}
{"id":3,"text":null,"tags":["a","b"],"user":null}
{"id":4,"text":"4","tags":[],"user":null}
`)
	return dir
}

// TestScreens holds what people see of a trace and of a table at several widths.
func TestScreens(t *testing.T) {
	dir := screenFolder(t)
	for _, tt := range []struct{ name, pipeline string }{
		{"trace", "a.jsonl | where id != 2 | with n = int(text) | select id, n, user | out.parquet"},
		{"table", "a.jsonl"},
	} {
		for _, width := range []int{40, 80, 120} {
			t.Run(fmt.Sprintf("%s-%d", tt.name, width), func(t *testing.T) {
				args := []string{"--quiet", tt.pipeline}
				if tt.name == "trace" {
					args = append([]string{"--trace", "--sample=4"}, args...)
				}
				_, screen := onTerminal(t, dir, width, []string{"TERM=xterm-256color", "NO_COLOR="}, args...)
				file := filepath.Join("testdata", fmt.Sprintf("%s-%d.screen", tt.name, width))
				if *updateScreens {
					write(t, file, screen)
				}
				if want, err := os.ReadFile(file); err != nil || screen != string(want) {
					t.Errorf("%v\nit shows\n%s\nwant\n%s", err, screen, want)
				}
				for line := range strings.Lines(screen) {
					if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
						t.Errorf("a line of %d columns at %d: %s", n, width, line)
					}
				}
			})
		}
	}
}

// TestPlainTerminals: without colours nothing is styled, and a dumb terminal is sent nothing but text.
func TestPlainTerminals(t *testing.T) {
	dir := screenFolder(t)
	for _, tt := range []struct {
		name string
		env  []string
		bad  string
	}{
		{"NO_COLOR", []string{"TERM=xterm-256color", "NO_COLOR=1"}, "\x1b["},
		{"dumb", []string{"TERM=dumb", "NO_COLOR="}, "\x1b"},
		{"no TERM", []string{"TERM=", "NO_COLOR="}, "\x1b[?"},
	} {
		for _, args := range [][]string{{"a.jsonl | limit 2"}, {"--trace", "a.jsonl | limit 1"}, {"--stats", "--overwrite", "a.jsonl | out.jsonl"},
			{"diff", "a.jsonl", "a.jsonl | where id > 1", "--key=id"}, {"inspect", "a.jsonl"}, {"lint", "a.jsonl | where id > 1"}} {
			ours, theirs := pseudo(t, 80, 60)
			c := command(t, dir, args...)
			c.Env = append(c.Env, tt.env...)
			c.Stdout, c.Stderr = theirs, theirs
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			theirs.Close()
			all, _ := io.ReadAll(ours) // ends with EIO
			_ = c.Wait()               // diff has a code of its own
			text := string(all)
			if args[0] == "--stats" && tt.name == "NO_COLOR" { // the live picture moves the cursor, and styles nothing
				text = strings.NewReplacer("\x1b[J", "", "\x1b[1A", "").Replace(text)
				for n := range 20 {
					text = strings.ReplaceAll(text, fmt.Sprintf("\x1b[%dA", n), "")
				}
			}
			if len(text) == 0 || strings.Contains(text, tt.bad) {
				t.Errorf("%s %v: %q", tt.name, args, text)
			}
		}
	}
}

// TestResizedWhileRunning narrows and widens the terminal of a real run: every picture fits, and nothing stays of the one before.
func TestResizedWhileRunning(t *testing.T) {
	ours, theirs := pseudo(t, 100, 24)
	c := command(t, t.TempDir(), "- | where id > 0 | out.jsonl")
	c.Env = append(c.Env, "TERM=linux") // cuts lines off when it is narrowed, as the emulator does
	c.Stderr = theirs
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	vt := vt10x.New(vt10x.WithSize(100, 24))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(vt, ours) // ends with EIO
	}()
	if _, err := io.WriteString(in, strings.Repeat("{\"id\":1}\n", 200_000)); err != nil {
		t.Fatal(err)
	}
	await := func(what string, ok func(screen string) bool) string {
		late := time.NewTimer(30 * time.Second)
		defer late.Stop()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			if s := screenText(vt); ok(s) {
				return s
			}
			select {
			case <-tick.C:
			case <-late.C:
				t.Fatalf("the screen does not show %s:\n%s", what, screenText(vt))
			}
		}
	}
	whole := func(s string) bool { return strings.Contains(s, "where") && strings.Contains(s, "is the bottleneck") }
	await("the first picture", whole)
	for _, width := range []int{50, 40, 120, 80} {
		vt.Resize(width, 24)
		winsize(t, ours, width, 24)
		wide := "workers"
		got := await(fmt.Sprintf("a picture for %d columns", width), func(s string) bool {
			return whole(s) && strings.Count(s, "is the bottleneck") == 1 && strings.Count(s, "write jsonl") >= 1 && (width < 100 || strings.Contains(s, wide))
		})
		for line := range strings.Lines(got) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Errorf("a line of %d columns at %d:\n%s", n, width, got)
			}
		}
	}
	in.Close()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if end := screenText(vt); !strings.HasPrefix(end, "read 200,000 rows") || strings.Contains(end, "bottleneck") {
		t.Errorf("what stays is\n%s", end)
	}
}
