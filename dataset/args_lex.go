package dataset

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError is text that does not follow the rules of pipeline strings. Offset counts bytes from the start of the text that was
// parsed; who parses a part of a longer text shifts it. It is a mistake of usage.
type SyntaxError struct {
	Offset int
	Msg    string
	Err    error // the cause, if another part of the program found the mistake
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Msg) }

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }

func syntaxf(off int, format string, a ...any) *SyntaxError {
	return &SyntaxError{Offset: off, Msg: fmt.Sprintf(format, a...)}
}

// Word is a piece of pipeline text without outer spaces, as typed.
type Word struct {
	Text   string
	Offset int // byte at which it starts
}

// End is the byte after the word.
func (w Word) End() int { return w.Offset + len(w.Text) }

// Option splits a word of the form key=value; key==value is none.
func (w Word) Option() (key string, value Word, ok bool) {
	n := 0
	for n < len(w.Text) && isNameByte(w.Text[n], n == 0) {
		n++
	}
	if n == 0 || n >= len(w.Text) || w.Text[n] != '=' || strings.HasPrefix(w.Text[n:], "==") || strings.HasPrefix(w.Text[n:], "=~") {
		return "", Word{}, false
	}
	return w.Text[:n], Word{w.Text[n+1:], w.Offset + n + 1}, true
}

func isNameByte(c byte, first bool) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		return true
	}
	return !first && (c >= '0' && c <= '9' || c == '-')
}

// Quoted says whether the word starts with a quote.
func (w Word) Quoted() bool { return w.Text != "" && isQuote(w.Text[0]) }

// Unquote returns the value of a word: what is between its quotes with escapes resolved, or the text as it is.
func (w Word) Unquote() (string, error) {
	if !w.Quoted() {
		return w.Text, nil
	}
	v, end, err := ScanQuoted(w.Text, 0)
	if err != nil {
		return "", shift(err, w.Offset)
	}
	if end != len(w.Text) {
		return "", syntaxf(w.Offset+end, "text after the closing quote: %s", clip(w.Text[end:]))
	}
	return v, nil
}

// shift adds to the offset of a SyntaxError.
func shift(err error, by int) error {
	if s, ok := err.(*SyntaxError); ok { //nolint // made here, never wrapped
		return &SyntaxError{Offset: s.Offset + by, Msg: s.Msg, Err: s.Err}
	}
	return err
}

// Words splits text at spaces outside quotes and brackets.
func Words(text string) ([]Word, error) {
	var out []Word
	for at := 0; ; {
		w, err := nextWord(text, at)
		if err != nil {
			return nil, err
		}
		if w.Text == "" {
			return out, nil
		}
		out = append(out, w)
		at = w.End()
	}
}

// Items splits text at commas outside quotes and brackets. An empty item is an error; an empty text has no items.
func Items(text string) ([]Word, error) {
	if trimmed(text, 0, len(text)).Text == "" {
		return nil, nil
	}
	var out []Word
	for at := 0; ; {
		end, err := Scan(text, at, func(c byte, _ int) bool { return c == ',' })
		if err != nil {
			return nil, err
		}
		w := trimmed(text, at, end)
		if w.Text == "" {
			return nil, syntaxf(w.Offset, "an item is missing before or after a comma")
		}
		out = append(out, w)
		if end == len(text) {
			return out, nil
		}
		at = end + 1
	}
}

// trimmed is text[from:to] without outer spaces.
func trimmed(text string, from, to int) Word {
	for from < to && isSpace(text[from]) {
		from++
	}
	for to > from && isSpace(text[to-1]) {
		to--
	}
	return Word{text[from:to], from}
}

func nextWord(text string, at int) (Word, error) {
	for at < len(text) && isSpace(text[at]) {
		at++
	}
	end, err := Scan(text, at, func(c byte, _ int) bool { return isSpace(c) })
	if err != nil {
		return Word{}, err
	}
	return Word{text[at:end], at}, nil
}

// Scan returns the first byte from at on, outside quotes and brackets, for which stop is true, or the end of the text. An unclosed quote
// or bracket is an error at the byte that opened it.
func Scan(text string, at int, stop func(c byte, i int) bool) (int, error) {
	var open []int // offsets of open brackets
	for i := at; i < len(text); {
		c := text[i]
		switch {
		case isQuote(c):
			_, end, err := ScanQuoted(text, i)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		case len(open) == 0 && stop(c, i):
			return i, nil
		case c == '(' || c == '[' || c == '{':
			open = append(open, i)
		case c == ')' || c == ']' || c == '}':
			if len(open) == 0 {
				return 0, syntaxf(i, "%q closes nothing; quote text that holds brackets", c)
			}
			if o := open[len(open)-1]; closing(text[o]) != c {
				return 0, syntaxf(i, "%q closes the %q at byte %d", c, text[o], o)
			}
			open = open[:len(open)-1]
		}
		i++
	}
	if len(open) > 0 {
		o := open[len(open)-1]
		return 0, syntaxf(o, "%q is not closed; quote text that holds brackets", text[o])
	}
	return len(text), nil
}

func closing(open byte) byte {
	switch open {
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// ScanQuoted reads the quoted text that starts at byte at and returns its value and the byte after the closing quote. Backslash escapes
// hold in all three kinds of quotes: \n \t \r \0 \\ \" \' \` \xHH \uHHHH; before any other character the backslash stays, so that
// regular expressions need no doubling.
func ScanQuoted(text string, at int) (value string, end int, err error) {
	q := text[at]
	var b strings.Builder
	for i := at + 1; i < len(text); {
		switch c := text[i]; {
		case c == q:
			return b.String(), i + 1, nil
		case c == '\\' && i+1 < len(text):
			n, err := unescape(&b, text, i)
			if err != nil {
				return "", 0, err
			}
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return "", 0, syntaxf(at, "the quote %c is not closed", q)
}

// unescape appends what the escape at byte i means and returns its length.
func unescape(b *strings.Builder, text string, i int) (int, error) {
	switch c := text[i+1]; c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case '0':
		b.WriteByte(0)
	case '\\', '"', '\'', '`':
		b.WriteByte(c)
	case 'x', 'u':
		digits := 2
		if c == 'u' {
			digits = 4
		}
		if len(text) < i+2+digits {
			return 0, syntaxf(i, `\%c needs %d hexadecimal digits`, c, digits)
		}
		v, err := strconv.ParseUint(text[i+2:i+2+digits], 16, 32)
		if err != nil {
			return 0, syntaxf(i, `\%c needs %d hexadecimal digits`, c, digits)
		}
		if c == 'x' {
			b.WriteByte(byte(v))
		} else {
			b.WriteRune(rune(v))
		}
		return 2 + digits, nil
	default:
		b.WriteByte('\\')
		return 1, nil
	}
	return 2, nil
}

// Quote writes s as quoted text that ScanQuoted reads back.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ' || c == 0x7f || r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}

// clip shortens text that goes into a message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
