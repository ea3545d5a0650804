package csv

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// RecordError says what is wrong with one record. The file is named by whoever knows it.
type RecordError struct {
	Line   int64  // of the start of the record, counted from 1; 0 when counting would have meant reading most of a big file again
	Offset uint64 // position of the record in the (decompressed) file
	Byte   int    // where in the record the fault is, counted from 1; 0 when it is the whole record
	Column string // empty when the fault is in none
	Value  string // the start of the field, as in the file
	Msg    string // what is wrong with it
	Remedy string
	class  string
}

// Error implements error.
func (e *RecordError) Error() string {
	var s strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&s, "line %d", e.Line)
	} else {
		fmt.Fprintf(&s, "record at byte %d", e.Offset)
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
func (e *RecordError) Class() string { return e.class }

// maxShown bounds how much of a field an error shows, in bytes.
const maxShown = 60

// snippet is the start of the field at buf[i].
func (p *parser) snippet(i int) string {
	end := i
	if p.quote != 0 && p.buf[i] == p.quote {
		for end++; end < p.to && p.buf[end] != p.quote && end-i <= maxShown; end++ {
		}
		end = min(end+1, p.to)
	} else {
		for end < p.to && p.buf[end] != p.delim && p.buf[end] != '\n' && p.buf[end] != '\r' && end-i <= maxShown {
			end++
		}
	}
	b := p.buf[i:end]
	if len(b) > maxShown {
		return strings.ToValidUTF8(string(b[:maxShown]), "\ufffd") + "…"
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// recordError describes the failure that the parser just reported for the record that starts at buf[from]. names are those of the file's
// columns.
func (p *parser) recordError(from int, names []string) *RecordError {
	f := p.fail
	e := &RecordError{Msg: f.why, Remedy: f.remedy, class: f.class}
	if f.column < 0 {
		return e
	}
	e.Byte = f.pos - from + 1
	if f.column < len(names) {
		e.Column = names[f.column]
	}
	if f.pos < p.to {
		e.Value = p.snippet(f.pos)
	}
	if f.want == nil {
		return e
	}
	e.Msg = fmt.Sprintf("%s, and the column is %s", f.why, f.want)
	if wider := widerType(f.want, f.why); wider != "" {
		e.Remedy = fmt.Sprintf("pass schema=%q to read the column as %s", schemaName(e.Column)+" "+wider, wider)
	}
	return e
}

// widerType is the type that would take a value which a column of type dt refused.
func widerType(dt arrow.DataType, why string) string {
	switch {
	case why == "is not a whole number":
		return "float64"
	case why == "is out of range" && dt.ID() >= arrow.UINT8 && dt.ID() <= arrow.UINT32:
		return "int64"
	case why == "is finer than the column's unit":
		return "timestamp[ns]"
	}
	return "string"
}

// schemaName is a column name as the schema option takes it.
func schemaName(name string) string {
	if strings.ContainsAny(name, ":.,[]<>() \t\n\"") || name == "" {
		return fmt.Sprintf("%q", name)
	}
	return name
}
