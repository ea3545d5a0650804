package jsonl

import (
	"fmt"
	"io"
)

// depth follows the nesting of JSON text, byte by byte.
type depth struct {
	level   int
	quoted  bool // inside a string
	escaped bool // behind a backslash inside a string
}

// pass takes one byte.
func (d *depth) pass(c byte) {
	switch {
	case d.escaped:
		d.escaped = false
	case d.quoted:
		d.quoted = c != '"'
		d.escaped = c == '\\'
	case c == '"':
		d.quoted = true
	case c == '{' || c == '[':
		d.level++
	case c == '}' || c == ']':
		d.level--
	}
}

// valueReader makes lines of the values of a file that has them in an array, or anyhow: what stands between two values becomes newlines, and
// newlines inside a value become blanks. Every byte stays where it is, so that positions are those of the file, and lines are read in
// bounded memory like any others. Inside a string, where JSON has no newlines, one becomes a byte that JSON has not either.
type valueReader struct {
	r      io.Reader
	array  bool
	pos    uint64 // of the next byte
	depth  depth
	state  valueState
	values int64 // that have begun
	err    error // what Read says next
}

// valueState is where a valueReader is.
type valueState uint8

const (
	beforeArray  valueState = iota
	beforeFirst             // a value or the end of the array
	beforeValue             // a value
	inValue                 // inside one in brackets or quotes
	inWord                  // inside a number or a literal
	afterValue              // a comma or the end of the array
	behindArray             // nothing but blanks
	betweenValue            // a value, or the end of the file
)

func newValueReader(r io.Reader, f form) *valueReader {
	v := &valueReader{r: r, array: f == formArray, state: betweenValue}
	if v.array {
		v.state = beforeArray
	}
	return v
}

// ArrayError says that what stands between the values of a file is no JSON.
type ArrayError struct {
	Offset  uint64 // position in the (decompressed) file
	Element int64  // how many elements begin before it
	Msg     string
}

// Error implements error.
func (e *ArrayError) Error() string {
	return fmt.Sprintf("byte %d, after element %d: %s; the rest of the file cannot be read", e.Offset, e.Element, e.Msg)
}

// Class is the class that the failure is counted under.
func (e *ArrayError) Class() string { return "malformed JSON" }

// Read implements io.Reader.
func (v *valueReader) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.r.Read(p)
	k, msg := v.pass(p[:n])
	if msg != "" {
		v.err = &ArrayError{v.pos, v.values, msg}
		return k, v.err
	}
	if err == io.EOF {
		err = v.end()
	}
	v.err = err
	return n, err
}

// end is what comes where the file ends.
func (v *valueReader) end() error {
	switch v.state {
	case beforeArray, behindArray, betweenValue:
		return io.EOF
	case inWord, inValue:
		if !v.array {
			return io.EOF // the line says what is wrong with the value
		}
	}
	return &ArrayError{v.pos, v.values, "the file ends inside the array"}
}

// pass turns bytes into lines. Where what stands between the values is wrong it stops and says why; n bytes were good.
func (v *valueReader) pass(p []byte) (n int, msg string) {
	for i := 0; i < len(p); i++ {
		c := p[i]
		if v.state == inValue {
			i = v.inside(p, i)
			continue
		}
		if v.state == inWord && c > ' ' && c != ',' && c != ']' && c != '{' && c != '[' && c != '"' {
			v.pos++
			continue
		}
		if msg := v.outside(p, i, c); msg != "" {
			return i, msg
		}
		v.pos++
	}
	return len(p), ""
}

// inside passes the bytes of a value from p[i] on, up to its end or that of p, and returns the position of the last one.
func (v *valueReader) inside(p []byte, i int) int {
	start := i
	d := &v.depth
	for ; i < len(p); i++ {
		c := p[i]
		if !special[c] && !d.escaped {
			continue
		}
		if c == '\n' {
			p[i] = ' '
			if d.quoted {
				p[i] = 1
			}
		}
		d.pass(c)
		if d.level == 0 && !d.quoted {
			v.state = v.after()
			v.pos += uint64(i + 1 - start)
			return i
		}
	}
	v.pos += uint64(i - start)
	return i
}

// special are the bytes that inside looks at.
var special = [256]bool{'"': true, '\\': true, '{': true, '}': true, '[': true, ']': true, '\n': true}

// after is the state behind a value.
func (v *valueReader) after() valueState {
	if v.array {
		return afterValue
	}
	return betweenValue
}

// outside takes a byte that is not inside a value.
func (v *valueReader) outside(p []byte, i int, c byte) (msg string) {
	if v.state == inWord {
		v.state = v.after()
	}
	blank := c == ' ' || c == '\t' || c == '\r' || c == '\n' || v.pos < uint64(len(mark)) && c == mark[v.pos]
	switch {
	case blank:
	case v.state == beforeArray:
		if c != '[' {
			return "it does not begin with an array"
		}
		v.state = beforeFirst
	case v.state == behindArray:
		return "more text behind the array"
	case v.state == afterValue && c == ',':
		v.state = beforeValue
	case c == ']' && (v.state == afterValue || v.state == beforeFirst):
		v.state = behindArray
	case v.state == afterValue:
		return "a comma or a closing bracket must follow an element"
	case c == ',' || c == ']' || c == '}':
		return "an element is missing"
	default:
		v.begin(c)
		return ""
	}
	p[i] = '\n'
	return ""
}

// begin takes the first byte of a value.
func (v *valueReader) begin(c byte) {
	v.values++
	v.depth = depth{}
	v.depth.pass(c)
	v.state = inWord
	if v.depth.level > 0 || v.depth.quoted {
		v.state = inValue
	}
}
