package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/dataset"
)

// emulator is a pseudo terminal whose output a terminal emulator turns into a screen.
type emulator struct {
	t      *testing.T
	vt     vt10x.Terminal
	ours   *os.File
	theirs *os.File
	ended  chan struct{}
}

func newEmulator(t *testing.T, width, height int) *emulator {
	t.Helper()
	ours, theirs := terminal(t)
	e := &emulator{t: t, vt: vt10x.New(vt10x.WithSize(width, height)), ours: ours, theirs: theirs, ended: make(chan struct{})}
	e.winsize(width, height)
	go func() {
		defer close(e.ended)
		_, err := io.Copy(e.vt, ours) // ends with EIO when the other end is closed
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("read terminal: %v", err)
		}
	}()
	t.Cleanup(func() { theirs.Close(); <-e.ended })
	return e
}

func (e *emulator) winsize(width, height int) {
	e.t.Helper()
	if err := unix.IoctlSetWinsize(int(e.ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		e.t.Fatal(err)
	}
}

func (e *emulator) resize(width, height int) {
	e.vt.Resize(width, height)
	e.winsize(width, height)
}

// text is the screen without blanks at the ends of lines and of the screen.
func (e *emulator) text() string {
	lines := strings.Split(e.vt.String(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// await waits until the screen holds.
func (e *emulator) await(what string, ok func(string) bool) string {
	e.t.Helper()
	late := time.NewTimer(30 * time.Second)
	defer late.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s := e.text(); ok(s) {
			return s
		}
		select {
		case <-tick.C:
		case <-late.C:
			e.t.Fatalf("the screen does not show %s:\n%s", what, e.text())
		}
	}
}

func (e *emulator) awaitText(s string) string {
	e.t.Helper()
	return e.await(s, func(screen string) bool { return strings.Contains(screen, s) })
}

// frame waits until a whole picture that contains s is on the screen: pictures are drawn from the top down over a cleared screen.
func (e *emulator) frame(s string) string {
	e.t.Helper()
	return e.await(s, func(screen string) bool {
		return strings.Contains(screen, s) && strings.HasSuffix(screen, "waits for input\n")
	})
}

// turning is a run whose report the test changes.
type turning struct {
	r atomic.Pointer[dataset.Report]
}

func (w *turning) Snapshot() dataset.Report { return *w.r.Load() }
func (*turning) OffHeapBytes() int64        { return 0 }

func (w *turning) set(r dataset.Report) { w.r.Store(&r) }

func TestLiveOnTerminals(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			e := newEmulator(t, width, 20)
			var look lookout
			w := &turning{}
			w.set(busy())
			look.set(w)
			fmt.Fprintln(e.theirs, "$ sluice …")
			l := startLive(e.theirs, terminalSize(e.theirs), &look)
			golden(t, fmt.Sprintf("live-%d", width), e.frame("read 1,500 rows"))
			for i := range 3 { // log lines come above, and nothing tears
				l.say(fmt.Sprintf("log line %d\n", i))
			}
			r := busy()
			r.RowsRead = 2000
			w.set(r)
			golden(t, fmt.Sprintf("live-%d-log", width), e.frame("read 2,000 rows"))
			l.stop()
			l.say("the end\n")
			if got, want := e.awaitText("the end"), "$ sluice …\nlog line 0\nlog line 1\nlog line 2\nthe end\n"; got != want {
				t.Errorf("what stays is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestLiveIsResized makes a terminal that cuts lines off, as the emulator does, wider and narrower while the run goes on.
func TestLiveIsResized(t *testing.T) {
	t.Setenv("TERM", "linux")
	e := newEmulator(t, 120, 20)
	var look lookout
	w := &turning{}
	look.set(w)
	w.set(busy())
	fmt.Fprintln(e.theirs, "$ sluice …")
	l := startLive(e.theirs, terminalSize(e.theirs), &look)
	e.frame("read 1,500 rows")
	for i, width := range []int{60, 40, 100, 80} {
		e.resize(width, 20)
		r := busy()
		r.RowsRead = int64(3000 + i)
		w.set(r)
		got := e.frame("read " + rows(r.RowsRead))
		want := "$ sluice …\n" + strings.Join(picture(&r, width, 20), "\n") + "\n"
		if got != want {
			t.Errorf("at %d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
	l.stop()
	if got := e.await("an empty screen", func(s string) bool { return !strings.Contains(s, "rows") }); got != "$ sluice …\n" {
		t.Errorf("what stays is\n%s", got)
	}
}

// TestCanvasRemovesBrokenLines narrows a terminal that breaks long lines anew: the rows to go back are counted as they are broken now.
func TestCanvasRemovesBrokenLines(t *testing.T) {
	width := 100
	var out strings.Builder
	c := &canvas{out: &out, size: func() (int, int) { return width, 30 }, reflows: true}
	draw := func(text string) string {
		out.Reset()
		if _, err := c.ReadFrom(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if err := c.Flush(0); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	draw("\x1b[1m" + strings.Repeat("x", 90) + "\x1b[0m\nshort\n")
	width = 40 // 90 columns are three rows now
	if got := draw("new\n"); got != "\r\x1b[4A\x1b[Jnew\n" {
		t.Errorf("got %q", got)
	}
	width = 100
	if got := draw("wide\n"); got != "\r\x1b[1A\x1b[Jwide\n" {
		t.Errorf("got %q", got)
	}
	if got := draw("\n"); got != "\r\x1b[1A\x1b[J" {
		t.Errorf("got %q", got)
	}
	c.reflows = false
	draw(strings.Repeat("x", 90) + "\n")
	width = 40
	if got := draw("new\n"); got != "\r\x1b[1A\x1b[Jnew\n" {
		t.Errorf("got %q", got)
	}
}

func TestReflows(t *testing.T) {
	tests := []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, true}, {map[string]string{"TERM": "xterm", "XTERM_VERSION": "XTerm(388)"}, false},
		{map[string]string{"TERM": "linux"}, false}, {map[string]string{"TERM": "screen"}, false}, {map[string]string{"TERM": "screen", "TMUX": "x"}, true},
		{map[string]string{"TERM": "xterm-kitty"}, true},
	}
	for _, tt := range tests {
		if got := reflows(func(k string) string { return tt.env[k] }); got != tt.want {
			t.Errorf("%v: %v", tt.env, got)
		}
	}
}
