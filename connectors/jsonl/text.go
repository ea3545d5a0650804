package jsonl

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape appends the decoded form of raw, the inside of a JSON string, to dst. bad is the position of the first fault
// in raw, or -1. With replace, invalid UTF-8 and lone surrogates become U+FFFD as encoding/json does.
func unescape(dst, raw []byte, replace bool) (out []byte, bad int, msg string) {
	for i := 0; i < len(raw); {
		k := bytes.IndexByte(raw[i:], '\\')
		run := raw[i:]
		if k >= 0 {
			run = raw[i : i+k]
		}
		if utf8.Valid(run) {
			dst = append(dst, run...)
		} else if replace {
			dst = appendValid(dst, run)
		} else {
			return dst, i + firstInvalid(run), msgUTF8
		}
		if k < 0 {
			break
		}
		i += k
		r, n := escape(raw[i:])
		switch {
		case n == 0:
			return dst, i, "an unknown escape in a string"
		case n < 0 && !replace:
			return dst, i, msgSurrogate
		case n < 0:
			n, r = -n, utf8.RuneError
		}
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst, -1, ""
}

// escape decodes the escape at the start of b and returns its length: 0 when it is none, negative for a lone surrogate.
func escape(b []byte) (r rune, n int) {
	if len(b) < 2 {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r = hex4(b[2:])
		if r < 0 {
			return 0, 0
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if pair := utf16.DecodeRune(r, hex4(b[8:])); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return r, -6
	}
	return 0, 0
}

// hex4 reads four hexadecimal digits, or returns -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c-'a' <= 5:
			c -= 'a' - 10
		case c-'A' <= 5:
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
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

func validText(b []byte) bool { return utf8.Valid(b) }

// firstInvalid is the position of the first byte of b that is not UTF-8.
func firstInvalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}
