package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// finish prints the error of a command, if there is one, and returns the exit code.
func (a *app) finish(err error) int {
	switch {
	case err == nil:
		return a.code
	case errors.Is(err, syscall.EPIPE) && !a.elsewhere: // whoever read our output has seen enough
		return exitOK
	case errors.Is(err, dataset.ErrCanceled) || a.interrupted.Load() && errors.Is(err, context.Canceled):
		fmt.Fprintln(a.Stderr, "sluice: interrupted")
		return exitInterrupted
	}
	fmt.Fprint(a.Stderr, a.message(err)+a.remedy(err))
	if _, ok := errors.AsType[*dataset.UsageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*troubleError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// remedy says what can be done about a row that ended the run.
func (a *app) remedy(err error) string {
	if _, ok := errors.AsType[*dataset.RowError](err); !ok || a.flags.onError != string(dataset.OnErrorFail) {
		return ""
	}
	return "  --on-error skip leaves failing rows out and counts them; --on-error dead-letter keeps them beside the result\n"
}

// message writes an error for people: one line, and for a mistake in a pipeline the place.
func (a *app) message(err error) string {
	e, ok := errors.AsType[*pipeline.Error](err)
	switch {
	case !ok:
		return fmt.Sprintf("sluice: %s\n", strings.TrimRight(err.Error(), "\n"))
	case e.Pos.Line > 0:
		return a.jobMessage(e)
	}
	line, caret := place(a.text, e.Pos.Offset)
	return fmt.Sprintf("sluice: %v\n  %s\n  %s^\n", e.Err, line, caret)
}

// jobMessage names the line and column of a job file and shows the line.
func (a *app) jobMessage(e *pipeline.Error) string {
	head := fmt.Sprintf("sluice: %s:%d", a.file, e.Pos.Line)
	lines := strings.Split(a.jobText, "\n")
	if e.Pos.Column == 0 || e.Pos.Line > len(lines) {
		return fmt.Sprintf("%s: %v\n", head, e.Err)
	}
	text := lines[e.Pos.Line-1]
	offset := len(text)
	for i, n := 0, 1; i < len(text); n++ { // columns count characters
		if n == e.Pos.Column {
			offset = i
			break
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	line, caret := place(text, offset)
	return fmt.Sprintf("%s:%d: %v\n  %s\n  %s^\n", head, e.Pos.Column, e.Err, line, caret)
}

// maxShown is how much of a line is shown on each side of a mistake.
const maxShown = 60

// place gives the line of text that holds the byte at offset, shortened, and the spaces that put a caret under it.
func place(text string, offset int) (line, caret string) {
	text = masked(text)
	offset = min(max(offset, 0), len(text))
	from := strings.LastIndexByte(text[:offset], '\n') + 1
	to := len(text)
	if i := strings.IndexByte(text[offset:], '\n'); i >= 0 {
		to = offset + i
	}
	before, after := []rune(printable(text[from:offset])), []rune(printable(text[offset:to]))
	if len(before) > maxShown {
		before = append([]rune("…"), before[len(before)-maxShown:]...)
	}
	if len(after) > maxShown {
		after = append(after[:maxShown:maxShown], '…')
	}
	return string(before) + string(after), strings.Repeat(" ", runewidth.StringWidth(string(before)))
}

// secret finds passwords in URLs.
var secret = regexp.MustCompile(`(?i)(://[^\s/@:]*:|\bpassword=)[^\s@&|"']+`)

// masked writes stars for passwords: what is shown may end up in a log. Offsets stay as they are.
func masked(text string) string {
	return secret.ReplaceAllStringFunc(text, func(m string) string {
		head := len(secret.FindStringSubmatch(m)[1])
		if strings.HasPrefix(m, "://") && !strings.Contains(text, m+"@") { // a port
			return m
		}
		return m[:head] + strings.Repeat("*", len(m)-head)
	})
}

// printable replaces what would move the cursor or confuse a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return '�'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}
