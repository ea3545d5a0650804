package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
)

// canvas draws the frames that mpb makes. Text written with Write stays above the frame; what ReadFrom takes is the frame, which the next
// one replaces. Unlike mpb's own writer it knows how wide the last frame was, so that a frame that a narrowed terminal has broken into more
// rows is still removed whole. Only mpb's goroutine calls it.
type canvas struct {
	out     io.Writer
	size    func() (width, height int)
	reflows bool // the terminal breaks long lines anew when it is narrowed, rather than cutting them off
	text    bytes.Buffer
	frame   bytes.Buffer
	widths  []int // of the lines on the terminal
	width   int   // of the terminal when they were drawn
}

var _ mpb.ConsoleWriter = (*canvas)(nil)

// Write takes text that stays.
func (s *canvas) Write(p []byte) (int, error) { return s.text.Write(p) }

// ReadFrom takes lines of the frame.
func (s *canvas) ReadFrom(r io.Reader) (int64, error) { return s.frame.ReadFrom(r) }

// IsTerminal implements mpb.ConsoleWriter.
func (s *canvas) IsTerminal() bool { return true }

// GetTermSize implements mpb.ConsoleWriter.
func (s *canvas) GetTermSize() (width, height int, err error) {
	width, height = s.size()
	return width, height, nil
}

// Flush draws the frame over the last one, in one write so that nothing comes between.
func (s *canvas) Flush(int) error {
	var b bytes.Buffer
	width, height := s.size()
	s.back(&b, width, height)
	if s.text.Len() > 0 {
		b.WriteString(s.text.String())
		if !bytes.HasSuffix(s.text.Bytes(), []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	s.widths, s.width = s.widths[:0], width
	for line := range strings.Lines(s.frame.String()) {
		if line = strings.TrimRight(line, "\n"); line == "" && len(s.widths) == 0 {
			continue
		}
		s.widths = append(s.widths, runewidth.StringWidth(plain(line)))
		b.WriteString(line)
		b.WriteByte('\n')
	}
	s.text.Reset()
	s.frame.Reset()
	if b.Len() == 0 {
		return nil
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// back goes to the first row of the last frame and clears what is below.
func (s *canvas) back(b *bytes.Buffer, width, height int) {
	rows := len(s.widths)
	if s.reflows && width < s.width {
		rows = 0
		for _, w := range s.widths {
			rows += max(1, (w+width-1)/max(1, width))
		}
	}
	if rows = min(rows, max(1, height-1)); len(s.widths) > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA\x1b[J", rows)
	}
}

// erase removes the last frame.
func (s *canvas) erase() {
	s.frame.Reset()
	_ = s.Flush(0)
}

// reflows guesses whether a terminal breaks lines anew when it gets narrower. Nearly all do; of those that do not, too many rows would be
// cleared, so they are named.
func reflows(env func(string) string) bool {
	t := env("TERM")
	switch {
	case env("XTERM_VERSION") != "", t == "linux", t == "vt100", t == "vt220":
		return false
	case t == "screen" || strings.HasPrefix(t, "screen."), strings.HasPrefix(t, "rxvt"):
		return env("TMUX") != ""
	}
	return true
}

// plain is a line without its styles.
func plain(s string) string {
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], 'm')
		if j < 0 {
			return s[:i]
		}
		s = s[:i] + s[i+j+1:]
	}
}
