package jsonl

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// pad is how many readable bytes must follow the last newline of a chunk, so that eight bytes can always be loaded.
const pad = 16

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// scanner walks JSON text in place. Every chunk that it sees ends in a newline, which no JSON value may contain raw, so
// the newline is the sentinel that stops every loop and no position is compared with the end of the chunk.
// Methods return the position after what they read, or -1 after fail.
type scanner struct {
	buf      []byte
	depth    int
	maxDepth int
	replace  bool // invalid UTF-8 and lone surrogates become U+FFFD instead of an error
	scratch  []byte

	errPos int
	errMsg string
	want   arrow.DataType // the column's type when the value is sound JSON of another one
	path   []string       // the column under which the error lies, innermost first
}

func (s *scanner) fail(i int, msg string) int {
	s.errPos, s.errMsg, s.path, s.want = i, msg, s.path[:0], nil
	return -1
}

// within adds the name of an enclosing column to the error being returned.
func (s *scanner) within(name string) int {
	s.path = append(s.path, name)
	return -1
}

// space skips blanks inside a line; the newline is not one of them.
func (s *scanner) space(i int) int {
	for s.buf[i] <= ' ' {
		if c := s.buf[i]; c != ' ' && c != '\t' && c != '\r' {
			return i
		}
		i++
	}
	return i
}

// Faults that an option can let pass; errors name the option.
const (
	msgDeep      = "nested too deep"
	msgUTF8      = "invalid UTF-8"
	msgExtra     = "a key that the schema does not have"
	msgSurrogate = "a lone surrogate in a string"
)

// text flags of a string found by stringEnd.
const (
	textEscaped = 1 << iota
	textWide    // holds bytes above 0x7f, not yet checked to be UTF-8
)

// stringEnd finds the closing quote of the string whose first byte is buf[i], eight bytes at a time.
func (s *scanner) stringEnd(i int) (end, flags int) {
	var wide uint64
	start := i
	for {
		x := binary.LittleEndian.Uint64(s.buf[i:])
		q := x ^ (ones * '"')
		b := x ^ (ones * '\\')
		m := ((q-ones)&^q | (b-ones)&^b | (x-ones*0x20)&^x) & highs
		if m == 0 {
			wide |= x
			i += 8
			continue
		}
		k := bits.TrailingZeros64(m)
		wide |= x & (1<<(k-7) - 1)
		i += k / 8
		switch c := s.buf[i]; {
		case c == '"':
			if wide&highs != 0 {
				flags |= textWide
			}
			return i, flags
		case c == '\\':
			flags |= textEscaped
			if s.buf[i+1] == '\n' {
				return s.fail(i, "a string has no closing quote"), 0
			}
			i += 2
		case c == '\n':
			return s.fail(start-1, "a string has no closing quote"), 0
		default:
			return s.fail(i, "a control character inside a string must be escaped"), 0
		}
	}
}

// text reads the string whose opening quote is buf[i] and returns its decoded bytes, valid until the next call.
func (s *scanner) text(i int) ([]byte, int) {
	end, flags := s.stringEnd(i + 1)
	if end < 0 {
		return nil, -1
	}
	raw := s.buf[i+1 : end]
	if flags == 0 {
		return raw, end + 1
	}
	if flags&textEscaped == 0 {
		if utf8.Valid(raw) {
			return raw, end + 1
		}
		if !s.replace {
			return nil, s.fail(i+1+firstInvalid(raw), msgUTF8)
		}
	}
	out, bad, msg := unescape(s.scratch[:0], raw, s.replace)
	if bad >= 0 {
		return nil, s.fail(i+1+bad, msg)
	}
	s.scratch = out
	return out, end + 1
}

// word matches a literal (true, false, null) at i.
func (s *scanner) word(i int, w string) int {
	for k := range len(w) {
		if s.buf[i+k] != w[k] {
			return s.fail(i, "not a JSON value")
		}
	}
	return i + len(w)
}

// skip checks and passes one value whose first byte is buf[i].
func (s *scanner) skip(i int) int {
	switch c := s.buf[i]; {
	case c == '"':
		_, end := s.text(i)
		return end
	case c == '{':
		return s.skipObject(i)
	case c == '[':
		return s.skipArray(i)
	case c == 't':
		return s.word(i, "true")
	case c == 'f':
		return s.word(i, "false")
	case c == 'n':
		return s.word(i, "null")
	case c == '-' || c-'0' <= 9:
		_, end := s.number(i)
		return end
	case c == '\n':
		return s.fail(i, "the line ends inside a value")
	default:
		return s.fail(i, "not a JSON value")
	}
}

func (s *scanner) enter(i int) bool {
	s.depth++
	if s.depth > s.maxDepth {
		s.fail(i, msgDeep)
		return false
	}
	return true
}

func (s *scanner) skipObject(i int) int {
	if !s.enter(i) {
		return -1
	}
	i = s.space(i + 1)
	if s.buf[i] == '}' {
		s.depth--
		return i + 1
	}
	for {
		if s.buf[i] != '"' {
			return s.fail(i, "an object key must be a string")
		}
		if _, i = s.text(i); i < 0 {
			return -1
		}
		if i = s.colon(i); i < 0 {
			return -1
		}
		if i = s.skip(i); i < 0 {
			return -1
		}
		var more bool
		if i, more = s.comma(i, '}'); !more {
			return i
		}
	}
}

func (s *scanner) skipArray(i int) int {
	if !s.enter(i) {
		return -1
	}
	i = s.space(i + 1)
	if s.buf[i] == ']' {
		s.depth--
		return i + 1
	}
	for {
		if i = s.skip(i); i < 0 {
			return -1
		}
		var more bool
		if i, more = s.comma(i, ']'); !more {
			return i
		}
	}
}

// colon passes the colon after a key and the blanks around it.
func (s *scanner) colon(i int) int {
	if b := s.buf[i:]; len(b) > 2 && b[0] == ':' { // as nearly every writer has it
		if b[1] > ' ' {
			return i + 1
		}
		if b[1] == ' ' && b[2] > ' ' {
			return i + 2
		}
	}
	i = s.space(i)
	if s.buf[i] != ':' {
		return s.fail(i, "a colon must follow an object key")
	}
	return s.space(i + 1)
}

// comma passes what follows a member: a comma and blanks (more), or the closing bracket, which leaves the level.
func (s *scanner) comma(i int, closing byte) (next int, more bool) {
	if b := s.buf[i:]; len(b) > 2 && b[0] == ',' {
		if b[1] > ' ' {
			return i + 1, true
		}
		if b[1] == ' ' && b[2] > ' ' {
			return i + 2, true
		}
	}
	i = s.space(i)
	switch s.buf[i] {
	case ',':
		return s.space(i + 1), true
	case closing:
		s.depth--
		return i + 1, false
	case '\n':
		return s.fail(i, "the line ends inside a value"), false
	default:
		return s.fail(i, "a comma or a closing bracket must follow a value"), false
	}
}
