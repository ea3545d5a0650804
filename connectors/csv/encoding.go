package csv

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// charsetOf is the upper half of an encoding of one byte a character, or nil.
func charsetOf(e Encoding) *[128]rune {
	switch e {
	case Latin1:
		return &latin1
	case Windows1252:
		return &windows1252
	}
	return nil
}

var latin1 = func() (t [128]rune) {
	for i := range t {
		t[i] = rune(i + 0x80)
	}
	return t
}()

// windows1252 as the WHATWG Encoding Standard has it: its five holes are control characters.
var windows1252 = func() [128]rune {
	t := latin1
	copy(t[:], []rune("\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f"+
		"\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178"))
	return t
}()

// decodeCharset appends b as UTF-8.
func decodeCharset(dst, b []byte, t *[128]rune) []byte {
	for _, c := range b {
		if c < utf8.RuneSelf {
			dst = append(dst, c)
		} else {
			dst = utf8.AppendRune(dst, t[c-0x80])
		}
	}
	return dst
}

// appendValid appends b with every invalid byte replaced by U+FFFD.
func appendValid(dst, b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

const (
	bomUTF8 = "\xef\xbb\xbf"
	bomLE   = "\xff\xfe"
	bomBE   = "\xfe\xff"
)

// wide reports whether a file in an encoding that begins with head is UTF-16.
func wide(e Encoding, head []byte) bool {
	switch e {
	case UTF16, UTF16LE, UTF16BE:
		return true
	case "":
		return len(head) >= 2 && (string(head[:2]) == bomLE || string(head[:2]) == bomBE)
	}
	return false
}

// utf16Reader reads UTF-16 as UTF-8, without its byte order mark. What is no valid UTF-16 comes out as bytes that are no valid UTF-8, so
// that the parser treats both alike.
type utf16Reader struct {
	r     io.Reader
	order binary.ByteOrder // nil: by the mark, else little endian
	raw   []byte
	n     int    // bytes of raw
	buf   []byte // UTF-8
	out   []byte // what of buf was not read yet
	err   error
	start bool // nothing was read yet
}

const utf16Chunk = 64 << 10

func newUTF16Reader(r io.Reader, e Encoding) *utf16Reader {
	u := &utf16Reader{r: r, raw: make([]byte, utf16Chunk), start: true}
	switch e {
	case UTF16LE:
		u.order = binary.LittleEndian
	case UTF16BE:
		u.order = binary.BigEndian
	}
	return u
}

// Read implements io.Reader.
func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.fill()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) fill() {
	k, err := u.r.Read(u.raw[u.n:])
	u.n += k
	u.err = err
	b := u.raw[:u.n]
	if u.start {
		if len(b) < 2 && err == nil {
			return
		}
		b = u.mark(b)
	}
	out := u.buf[:0]
	for len(b) >= 2 {
		r := rune(u.order.Uint16(b))
		if !utf16.IsSurrogate(r) {
			out = utf8.AppendRune(out, r)
			b = b[2:]
			continue
		}
		if len(b) < 4 && err == nil {
			break // the other half is still to come
		}
		if len(b) >= 4 {
			if pair := utf16.DecodeRune(r, rune(u.order.Uint16(b[2:]))); pair != utf8.RuneError {
				out = utf8.AppendRune(out, pair)
				b = b[4:]
				continue
			}
		}
		out = append(out, 0xff)
		b = b[2:]
	}
	if err != nil && len(b) == 1 {
		out, b = append(out, 0xff), nil
	}
	u.buf, u.out = out, out
	u.n = copy(u.raw, b)
}

// mark takes the byte order mark off.
func (u *utf16Reader) mark(b []byte) []byte {
	u.start = false
	switch {
	case len(b) >= 2 && string(b[:2]) == bomBE && u.order != binary.LittleEndian:
		u.order = binary.BigEndian
	case len(b) >= 2 && string(b[:2]) == bomLE && u.order != binary.BigEndian:
		u.order = binary.LittleEndian
	default:
		if u.order == nil {
			u.order = binary.LittleEndian
		}
		return b
	}
	return b[2:]
}

// decodeUTF16 is the start of a file as UTF-8.
func decodeUTF16(b []byte, e Encoding) ([]byte, error) {
	return io.ReadAll(newUTF16Reader(bytes.NewReader(b), e))
}
