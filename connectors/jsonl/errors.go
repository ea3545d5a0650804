package jsonl

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// LineError says what is wrong with one line. The file is named by whoever knows it.
type LineError struct {
	Line   int64  // of an array the element, counted from 1; 0 when counting would have meant reading most of a big file again
	Offset uint64 // position of the line in the (decompressed) file
	Byte   int    // where in the line the fault is, counted from 1; 0 when it is the whole line
	Column string // the column as a path ("tags[2].name"), empty when the fault is in none
	Value  string // the start of the value, as in the file
	Msg    string // what is wrong with it
	Remedy string
	class  string
	unit   string // what is counted, if not lines
}

// Error implements error.
func (e *LineError) Error() string {
	var s strings.Builder
	unit := cmp.Or(e.unit, "line")
	if e.Line > 0 {
		fmt.Fprintf(&s, "%s %d", unit, e.Line)
	} else {
		fmt.Fprintf(&s, "%s at byte %d", unit, e.Offset)
	}
	if e.Byte > 0 {
		fmt.Fprintf(&s, ", byte %d", e.Byte)
	}
	if e.Column != "" {
		fmt.Fprintf(&s, ", column %q", e.Column)
	}
	s.WriteString(": ")
	if e.Value != "" {
		fmt.Fprintf(&s, "%s ", e.Value)
	}
	s.WriteString(e.Msg)
	if e.Remedy != "" {
		s.WriteString("; ")
		s.WriteString(e.Remedy)
	}
	return s.String()
}

// Class is the class that the failure is counted under.
func (e *LineError) Class() string { return e.class }

// maxShown bounds how much of a value an error shows, in bytes.
const maxShown = 60

// snippet is the start of the text at b, up to the end of its line.
func snippet(b []byte) string {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b = b[:i]
			break
		}
		if i == maxShown {
			return strings.ToValidUTF8(string(b[:i]), "\ufffd") + "…"
		}
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// lineError describes the failure that the scanner just reported for the line that starts at buf[from].
func (s *scanner) lineError(from int) *LineError {
	e := &LineError{Byte: s.errPos - from + 1, Column: joinPath(s.path), Msg: s.errMsg, class: "malformed JSON"}
	if s.want == nil {
		e.Value = snippet(s.buf[s.errPos:])
		if e.Value != "" {
			e.Value = "at " + e.Value + ":"
		}
		e.Remedy = s.remedy()
		return e
	}
	at, want := s.errPos, s.want
	end := s.skip(at)
	if end < 0 { // the value is no JSON at all, so no other type would read it
		s.want = nil
		broken := s.lineError(from)
		broken.Column = e.Column
		return broken
	}
	e.Value = snippet(s.buf[at:end])
	e.Msg = fmt.Sprintf("%s, and the column is %s", e.Msg, want)
	e.class = "value is no " + want.String()
	if wider := widerType(want, s.buf[at:end]); wider != "" {
		e.Remedy = fmt.Sprintf("pass schema=%q to read the column as %s", schemaText(e.Column)+":"+wider, wider)
	}
	return e
}

// remedy names the option that would let the line pass.
func (s *scanner) remedy() string {
	switch s.errMsg {
	case msgDeep:
		return fmt.Sprintf("max_depth=%d is the limit", s.maxDepth)
	case msgExtra:
		return "extra=error refuses it; pass extra=ignore or extra=column"
	case msgUTF8, msgSurrogate:
		return "pass invalid=replace to read it as U+FFFD"
	}
	return ""
}

// widerType is the type that would take a value of the column's type and value, which is sound JSON.
func widerType(dt arrow.DataType, value []byte) string {
	c := value[0]
	if c == '-' || c-'0' <= 9 {
		if id := dt.ID(); id >= arrow.UINT8 && id <= arrow.INT64 {
			if _, err := strconv.ParseUint(string(value), 10, 64); err == nil {
				return "uint64"
			}
			return "float64"
		}
	}
	if id := dt.ID(); id == arrow.STRUCT || id == arrow.LIST || c != 'n' {
		return "string"
	}
	return ""
}

// joinPath writes a column path, innermost name first, as people write it.
func joinPath(path []string) string {
	var s strings.Builder
	for i := len(path) - 1; i >= 0; i-- {
		if s.Len() > 0 && !strings.HasPrefix(path[i], "[") {
			s.WriteByte('.')
		}
		s.WriteString(path[i])
	}
	return s.String()
}

// schemaText is a column path as the schema option takes it: every element of a list is meant.
func schemaText(path string) string {
	var s strings.Builder
	for path != "" {
		open := strings.IndexByte(path, '[')
		if open < 0 {
			break
		}
		end := strings.IndexByte(path[open:], ']')
		if end < 0 {
			break
		}
		if _, err := strconv.Atoi(path[open+1 : open+end]); err != nil {
			break
		}
		s.WriteString(path[:open])
		s.WriteString("[]")
		path = path[open+end+1:]
	}
	return s.String() + path
}
