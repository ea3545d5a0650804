package thumb

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"
)

// pty opens a pseudo terminal and returns both its ends.
func pty(t *testing.T) (ours, theirs *os.File) {
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
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

// TestDetect plays the terminal: it reads the question and answers as different terminals do.
func TestDetect(t *testing.T) {
	const kittyOK = "\x1b_Gi=31;OK\x1b\\"
	for _, tt := range []struct {
		name   string
		env    map[string]string
		answer string // "" for a terminal that is not asked
		want   Mode
	}{
		{"kitty", map[string]string{"TERM": "xterm-kitty"}, kittyOK + "\x1b[?62;c", Kitty},
		{"kitty and sixels", map[string]string{"TERM": "xterm-ghostty"}, kittyOK + "\x1b[?62;4;22c", Kitty},
		{"kitty that refuses", map[string]string{"TERM": "xterm"}, "\x1b_Gi=31;ENOTSUP\x1b\\\x1b[?62;4c", Sixel},
		{"sixels", map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "\x1b[?62;4;6;9;15;22c", Sixel},
		{"neither", map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "\x1b[?1;2c", Blocks},
		{"forty-two is not four", map[string]string{"TERM": "xterm-256color"}, "\x1b[?62;42c", Blocks256},
		{"old colours", map[string]string{"TERM": "linux"}, "\x1b[?6c", Blocks256},
		{"tmux is not asked", map[string]string{"TERM": "xterm-kitty", "TMUX": "/tmp/x", "COLORTERM": "24bit"}, "", Blocks},
		{"dumb", map[string]string{"TERM": "dumb"}, "", None},
		{"no name", nil, "", None},
		{"no colours", map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, "", None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ours, theirs := pty(t)
			if tt.answer != "" { // the answer waits in the line, as of a terminal that is quick
				done := make(chan struct{})
				defer func() { <-done }()
				go func() {
					defer close(done)
					buf := make([]byte, len(ask))
					if _, err := io.ReadFull(ours, buf); err != nil || string(buf) != ask {
						t.Errorf("it asks %q (%v)", buf, err)
					}
					_, _ = io.WriteString(ours, tt.answer)
				}()
			}
			if got := Detect(theirs, theirs, func(k string) string { return tt.env[k] }); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	_, theirs := pty(t)
	env := func(string) string { return "xterm" }
	if got := Detect(r, w, env); got != None {
		t.Errorf("into a pipe: %s", got)
	}
	if got := Detect(r, theirs, func(k string) string { return map[string]string{"TERM": "xterm"}[k] }); got != Blocks256 {
		t.Errorf("with data on standard input: %s", got)
	}
}

func picture(w, h int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.Set(x, y, color.NRGBA{uint8(40 * x), uint8(40 * y), 9, 255})
		}
	}
	return img
}

func TestDrawBlocks(t *testing.T) {
	var b bytes.Buffer
	if err := Draw(&b, Blocks, []image.Image{picture(3, 3), nil, picture(2, 1)}, 1, 4, 5); err != nil {
		t.Fatal(err)
	}
	vt := vt10x.New(vt10x.WithSize(30, 4))
	_, _ = vt.Write([]byte(strings.ReplaceAll(b.String(), "\n", "\r\n")))
	var lines []string
	for line := range strings.Lines(vt.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	if want := []string{" ▀▀▀         ▀▀", " ▀▀▀"}; strings.Join(lines, "|") != strings.Join(want, "|")+"||" {
		t.Errorf("it shows %q", lines)
	}
	if c := vt.Cell(2, 0); c.FG != vt10x.Color(40<<16|9) || c.BG != vt10x.Color(40<<16|40<<8|9) {
		t.Errorf("the second cell is %x on %x", c.FG, c.BG)
	}
	b.Reset()
	if err := Draw(&b, Blocks256, []image.Image{picture(1, 2)}, 0, 4, 5); err != nil || !strings.Contains(b.String(), "38;5;") {
		t.Errorf("in 256 colours: %q %v", b.String(), err)
	}
	b.Reset()
	if err := Draw(&b, None, []image.Image{picture(1, 2)}, 0, 4, 5); err != nil || b.Len() > 0 {
		t.Errorf("nothing: %q %v", b.String(), err)
	}
}

// TestDrawGraphics: the cursor ends at the start of the line below, whatever the pictures are.
func TestDrawGraphics(t *testing.T) {
	for _, m := range []Mode{Kitty, Sixel} {
		var b bytes.Buffer
		if err := Draw(&b, m, []image.Image{picture(20, 40), nil, picture(10, 20)}, 2, 4, 3); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		begin, sign := "\x1b_G", "c=2,r=2"
		if m == Sixel {
			begin, sign = "\x1bP", `"1;1;20;40`
		}
		if strings.Count(text, begin) != 2 || !strings.Contains(text, sign) || !strings.HasPrefix(text, "\n\n\n\x1b[3A") || !strings.HasSuffix(text, "\n\n\n") ||
			strings.Count(text, "\x1b7") != strings.Count(text, "\x1b8") || !strings.Contains(text, "\x1b[14C") {
			t.Errorf("%s: %.300q", m, text)
		}
	}
	if Kitty.Pixels(3, 2) != image.Pt(30, 40) || Blocks.Pixels(3, 2) != image.Pt(3, 4) {
		t.Error("sizes")
	}
}
