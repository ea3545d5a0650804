package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal of 60 columns and returns both its ends.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("open terminal: %v", err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	fd := int(ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 60}); err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

// screen runs the program on a terminal and returns what appears.
func screen(t *testing.T, args ...string) string {
	t.Helper()
	ours, theirs := terminal(t)
	c := command(t, args...)
	c.Env = append(c.Env, "TERM=xterm", "NO_COLOR=")
	c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
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
	return strings.ReplaceAll(string(all), "\r\n", "\n")
}

func TestTerminalShowsATable(t *testing.T) {
	want := "\x1b[1m   id  text\x1b[0m\n\x1b[2mint64  string\x1b[0m\n    0  t0\n    1  t1\n\x1b[2m2 rows\x1b[0m\nread 3 rows, showed 2 rows in 5 ms\n"
	if got := screen(t, "three.jsonl | limit 2"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := screen(t, "--quiet", "three.jsonl | limit 1 | -"); got != "{\"id\":0,\"text\":\"t0\"}\n" {
		t.Errorf("JSON lines on a terminal: %q", got)
	}
}
