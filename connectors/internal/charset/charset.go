package charset

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is how the bytes of a file stand for text.
type Encoding string

// The encodings. The zero value is UTF-8, or UTF-16 where a byte order mark says so.
const (
	UTF8        Encoding = "utf-8"
	UTF16       Encoding = "utf-16" // byte order by its mark, else little endian
	UTF16LE     Encoding = "utf-16le"
	UTF16BE     Encoding = "utf-16be"
	Latin1      Encoding = "latin1"
	Windows1252 Encoding = "windows-1252"
)

// Names are the encodings, for messages.
const Names = "utf-8, utf-16, utf-16le, utf-16be, latin1 or windows-1252"

// Known reports whether e is one of them, or empty.
func (e Encoding) Known() bool {
	switch e {
	case "", UTF8, UTF16, UTF16LE, UTF16BE, Latin1, Windows1252:
		return true
	}
	return false
}

// Table is the upper half of an encoding of one byte a character, or nil.
func Table(e Encoding) *[128]rune {
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

// Append appends b, text of an encoding of one byte a character, as UTF-8.
func Append(dst, b []byte, t *[128]rune) []byte {
	for _, c := range b {
		if c < utf8.RuneSelf {
			dst = append(dst, c)
		} else {
			dst = utf8.AppendRune(dst, t[c-0x80])
		}
	}
	return dst
}

// AppendValid appends b with every invalid byte replaced by U+FFFD.
func AppendValid(dst, b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

const (
	// Mark is the byte order mark of UTF-8.
	Mark  = "\xef\xbb\xbf"
	bomLE = "\xff\xfe"
	bomBE = "\xfe\xff"
)

// Wide reports whether a file in an encoding that begins with head is UTF-16.
func Wide(e Encoding, head []byte) bool {
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

// DecodeUTF16 is the start of a file as UTF-8.
func DecodeUTF16(b []byte, e Encoding) ([]byte, error) {
	return io.ReadAll(newUTF16Reader(bytes.NewReader(b), e))
}

// Reader makes the text of a file that t gives from its start UTF-8, or leaves it in an encoding of one byte a character, and takes a byte
// order mark off; skipped is how long that was. recoded says that positions are not those of the file.
func Reader(t io.Reader, e Encoding) (in io.Reader, skipped uint64, recoded bool, err error) {
	head := make([]byte, len(Mark))
	n, err := io.ReadFull(t, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, 0, false, err
	}
	in = io.MultiReader(bytes.NewReader(head[:n]), t)
	switch {
	case Wide(e, head[:n]):
		return newUTF16Reader(in, e), 0, true, nil
	case string(head[:n]) == Mark && (e == "" || e == UTF8):
		return t, uint64(n), false, nil
	}
	return in, 0, false, nil
}
