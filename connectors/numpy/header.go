package numpy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

const (
	magic     = "\x93NUMPY"
	maxHeader = 64 << 10
	maxAxes   = 32
)

// header is what a .npy file says of its array.
type header struct {
	descr   string
	fortran bool
	shape   []int64
	size    int64 // bytes of the header with its prefix: where the data begins
}

// readHeader reads a header from the start of an array.
func readHeader(r io.Reader) (*header, error) {
	var p [12]byte
	if _, err := io.ReadFull(r, p[:10]); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, errors.New("the file is too short for a .npy header")
		}
		return nil, err
	}
	if string(p[:6]) != magic {
		return nil, errors.New("this is not a .npy file: its first bytes are not \\x93NUMPY")
	}
	n, size := int64(binary.LittleEndian.Uint16(p[8:])), int64(10)
	switch p[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, p[10:]); err != nil {
			return nil, fmt.Errorf("the header is cut off: %w", err)
		}
		n, size = int64(binary.LittleEndian.Uint32(p[8:])), 12
	default:
		return nil, fmt.Errorf("version %d.%d of the .npy format is not known", p[6], p[7])
	}
	if n > maxHeader {
		return nil, fmt.Errorf("a header of %d bytes, more than %d", n, maxHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("the header is cut off: %w", err)
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return nil, fmt.Errorf("header %s: %w", clip(text), err)
	}
	h.size = size + n
	return h, nil
}

func clip(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) > 80 {
		text = append(text[:80:80], "…"...)
	}
	return strconv.Quote(string(text))
}

// literal parses the one form that NumPy writes: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }.
type literal struct {
	s string
	i int
}

func (l *literal) eat(word string) bool {
	for l.i < len(l.s) && strings.IndexByte(" \t\r\n", l.s[l.i]) >= 0 {
		l.i++
	}
	if strings.HasPrefix(l.s[l.i:], word) {
		l.i += len(word)
		return true
	}
	return false
}

func (l *literal) text() (string, bool) {
	for _, q := range []string{"'", `"`} {
		if l.eat(q) {
			end := strings.Index(l.s[l.i:], q)
			if end < 0 {
				return "", false
			}
			out := l.s[l.i : l.i+end]
			l.i += end + 1
			return out, !strings.Contains(out, `\`)
		}
	}
	return "", false
}

var errHeader = errors.New("not a header as NumPy writes it")

func parseHeader(text string) (*header, error) {
	l := &literal{s: text}
	h := &header{}
	if !l.eat("{") {
		return nil, errHeader
	}
	seen := map[string]bool{}
	for !l.eat("}") {
		key, ok := l.text()
		if !ok || seen[key] || !l.eat(":") {
			return nil, errHeader
		}
		seen[key] = true
		switch key {
		case "descr":
			if l.eat("[") {
				return nil, errors.New("a structured array; save its fields as arrays of their own (numpy.savez)")
			}
			if h.descr, ok = l.text(); !ok {
				return nil, errHeader
			}
		case "fortran_order":
			if h.fortran = l.eat("True"); !h.fortran && !l.eat("False") {
				return nil, errHeader
			}
		case "shape":
			if err := l.shape(h); err != nil {
				return nil, err
			}
		default:
			return nil, errHeader
		}
		l.eat(",")
	}
	if l.eat(""); len(seen) != 3 || l.i != len(l.s) {
		return nil, errHeader
	}
	return h, nil
}

func (l *literal) shape(h *header) error {
	if !l.eat("(") {
		return errHeader
	}
	for !l.eat(")") {
		l.eat("")
		end := l.i
		for end < len(l.s) && l.s[end]-'0' <= 9 {
			end++
		}
		n, err := strconv.ParseInt(l.s[l.i:end], 10, 64)
		if err != nil {
			return errHeader
		}
		l.i = end
		l.eat("L") // Python 2
		if h.shape = append(h.shape, n); len(h.shape) > maxAxes {
			return fmt.Errorf("more than %d axes", maxAxes)
		}
		if !l.eat(",") && !strings.HasPrefix(l.s[l.i:], ")") {
			return errHeader
		}
	}
	return nil
}

// rows is how many rows the array has: one without axes.
func (h *header) rows() int64 {
	if len(h.shape) == 0 {
		return 1
	}
	return h.shape[0]
}

// inner is how many elements a row has, -1 when that overflows. Axes are multiplied without regard to zeros, so that the types of empty
// arrays are bounded too.
func (h *header) inner() int64 {
	n := int64(1)
	for _, d := range h.shape[min(1, len(h.shape)):] {
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if hi != 0 || lo > math.MaxInt32 || d > math.MaxInt32 {
			return -1
		}
		n = int64(lo)
	}
	return n
}

// write makes the bytes of a header, padded so that data begins at a multiple of 64.
func (h *header) write() []byte {
	var s strings.Builder
	order := "False"
	if h.fortran {
		order = "True"
	}
	fmt.Fprintf(&s, "{'descr': '%s', 'fortran_order': %s, 'shape': (", h.descr, order)
	for i, d := range h.shape {
		if i > 0 {
			s.WriteString(" ")
		}
		fmt.Fprintf(&s, "%d,", d)
	}
	s.WriteString("), }")
	text := s.String()
	if len(h.shape) > 1 {
		text = strings.Replace(text, ",), }", "), }", 1)
	}
	total := (10 + len(text) + 1 + 63) / 64 * 64
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(total-10))
	out = append(out, text...)
	return append(append(out, bytes.Repeat([]byte(" "), total-len(out)-1)...), '\n')
}
