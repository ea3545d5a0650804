package jsonl

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/internal/scalar"
	"github.com/sluice-data/sluice/dataset"
)

// maxColumns bounds how many columns, nested ones included, inference makes of objects whose keys are data.
const maxColumns = 10000

type kind uint8

const (
	kindBool kind = 1 << iota
	kindInt       // fits int64
	kindBig       // a whole number past int64 that fits uint64
	kindFloat
	kindString
	kindObject
	kindArray
)

var kindNames = map[kind]string{kindBool: "a boolean", kindInt: "a whole number", kindBig: "a whole number past 64 bits with sign",
	kindFloat: "a number with a fraction", kindString: "a string", kindObject: "an object", kindArray: "an array"}

// seen is where a kind was first seen, for the message about mixed kinds.
type seen struct {
	path string
	form form
	line int64
	text string
}

// shape is what the sample showed of one value.
type shape struct {
	kinds  kind
	neg    bool // a negative number was seen
	first  [7]seen
	keys   []string // of objects, in order of appearance
	fields map[string]*shape
	elem   *shape
	given  arrow.DataType // by the schema option, whatever was seen
}

// inferrer gathers shapes from samples.
type inferrer struct {
	scanner
	path    string
	form    form  // of the file
	lineNo  int64 // of an array the element
	root    shape
	columns int
	lines   int // objects seen
	broken  int
	first   *LineError
}

func newInferrer(opt Options) *inferrer {
	n := &inferrer{}
	n.maxDepth, n.replace = opt.MaxDepth, opt.Invalid == InvalidReplace
	return n
}

// sample reads the lines of data, the start of the file at path. whole says that it is the whole file; otherwise the last line is cut
// and left out.
func (n *inferrer) sample(path string, data []byte, whole bool) error {
	n.path, n.lineNo = path, 0
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	end := len(data)
	if !whole {
		end = bytes.LastIndexByte(data, '\n') + 1
	}
	n.buf = append(append(make([]byte, 0, end+1+pad), data[:end]...), '\n')
	n.buf = n.buf[:cap(n.buf)][:len(n.buf)+pad]
	for i := 0; i < end; {
		if n.form == formLines || n.buf[n.space(i)] != '\n' {
			n.lineNo++
		}
		next := i + bytes.IndexByte(n.buf[i:], '\n') + 1
		if err := n.lineAt(i); err != nil {
			return err
		}
		i = next
	}
	return nil
}

// lineAt adds one line. Broken lines count for nothing here: reading reports them.
func (n *inferrer) lineAt(from int) error {
	i := n.space(from)
	if n.buf[i] == '\n' {
		return nil
	}
	n.depth = 0
	end := n.skip(i)
	if end >= 0 {
		if end = n.space(end); n.buf[end] != '\n' {
			end = n.fail(end, "more text after the object")
		} else if n.buf[i] != '{' {
			end = n.fail(i, "the line is "+kindAt(n.buf, i)+", not an object")
		}
	}
	if end < 0 {
		if n.broken++; n.first == nil {
			n.first = n.lineError(from)
			n.first.Line, n.first.unit = n.lineNo, n.form.unit()
		}
		return nil
	}
	n.lines++
	n.value(&n.root, i)
	if n.columns > maxColumns {
		return dataset.Usagef("infer schema of %s, %s %d: the objects have more than %d keys, so keys seem to be data; pass schema=\"COLUMN:string\" for the column that holds them",
			n.path, n.form.unit(), n.lineNo, maxColumns)
	}
	return nil
}

// value adds the value at i, which is known to be sound, and returns the position after it.
func (n *inferrer) value(s *shape, i int) int {
	switch c := n.buf[i]; c {
	case '{':
		n.note(s, kindObject, i)
		return n.object(s, i)
	case '[':
		n.note(s, kindArray, i)
		if s.elem == nil {
			s.elem = &shape{}
		}
		if i = n.space(i + 1); n.buf[i] == ']' {
			return i + 1
		}
		for more := true; more; {
			i, more = n.comma(n.value(s.elem, i), ']')
		}
		return i
	case '"':
		n.note(s, kindString, i)
	case 't', 'f':
		n.note(s, kindBool, i)
	case 'n':
	default:
		num, end := n.number(i)
		n.note(s, numberKind(num, n.buf[i:end]), i)
		s.neg = s.neg || num.Neg
		return end
	}
	return n.skip(i)
}

func (n *inferrer) object(s *shape, i int) int {
	if s.fields == nil {
		s.fields = map[string]*shape{}
	}
	if i = n.space(i + 1); n.buf[i] == '}' {
		return i + 1
	}
	for more := true; more; {
		name, end := n.text(i)
		f := s.fields[string(name)]
		if f == nil {
			f = &shape{}
			s.fields[string(name)] = f
			s.keys = append(s.keys, string(name))
			n.columns++
		}
		i, more = n.comma(n.value(f, n.colon(end)), '}')
	}
	return i
}

func numberKind(num scalar.Number, text []byte) kind {
	if num.Real {
		return kindFloat
	}
	if _, ok := num.Int64(text); ok {
		return kindInt
	}
	if _, ok := num.Uint64(text); ok {
		return kindBig
	}
	return kindFloat
}

// note records that the value at i is of kind k.
func (n *inferrer) note(s *shape, k kind, i int) {
	if s.kinds&k == 0 {
		s.kinds |= k
		s.first[log2(k)] = seen{n.path, n.form, n.lineNo, snippet(n.buf[i:])}
	}
}

func log2(k kind) int {
	i := 0
	for k > 1 {
		k >>= 1
		i++
	}
	return i
}

// schema builds the fields of an object's shape. at is its path, for messages.
func (s *shape) schema(at string, mixed MixedPolicy) ([]arrow.Field, error) {
	out := make([]arrow.Field, 0, len(s.keys))
	for _, name := range s.keys {
		path := name
		if at != "" {
			path = at + "." + name
		}
		f, err := s.fields[name].field(name, path, mixed)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// field gives a shape its type. A value that was always null becomes a string, which every later step can handle.
func (s *shape) field(name, path string, mixed MixedPolicy) (arrow.Field, error) {
	f := arrow.Field{Name: name, Nullable: true, Type: arrow.BinaryTypes.String}
	if s.given != nil {
		f.Type = s.given
		return markAny(f), nil
	}
	switch s.kinds {
	case 0, kindString:
	case kindBool:
		f.Type = arrow.FixedWidthTypes.Boolean
	case kindInt:
		f.Type = arrow.PrimitiveTypes.Int64
	case kindBig, kindBig | kindInt:
		f.Type = arrow.PrimitiveTypes.Uint64
		if s.neg {
			f.Type = arrow.PrimitiveTypes.Float64
		}
	case kindFloat, kindFloat | kindInt, kindFloat | kindBig, kindFloat | kindBig | kindInt:
		f.Type = arrow.PrimitiveTypes.Float64
	case kindObject:
		fields, err := s.schema(path, mixed)
		if err != nil {
			return f, err
		}
		f.Type = arrow.StructOf(fields...)
	case kindArray:
		elem, err := s.elem.field("item", path+"[]", mixed)
		if err != nil {
			return f, err
		}
		f.Type = arrow.ListOfField(elem)
	default:
		if mixed == MixedString {
			break
		}
		return f, s.conflict(path)
	}
	if mixed == MixedString && f.Type == arrow.BinaryTypes.String {
		f.Metadata = anyText
	}
	return f, nil
}

// conflict names the first two places whose kinds have no common type.
func (s *shape) conflict(path string) error {
	const numeric = kindInt | kindBig | kindFloat
	var at []seen
	var names []string
	for k := kind(1); k <= kindArray; k <<= 1 {
		if s.kinds&k == 0 || k&numeric != 0 && len(names) > 0 && s.kinds&numeric&(k-1) != 0 {
			continue
		}
		at, names = append(at, s.first[log2(k)]), append(names, kindNames[k])
	}
	return dataset.Usagef("infer schema: column %q is %s in %s %s %d (%s) and %s in %s %s %d (%s); pass schema=%q, or mixed=string for all such columns",
		path, names[0], at[0].path, at[0].form.unit(), at[0].line, valueText(at[0].text), names[1], at[1].path, at[1].form.unit(), at[1].line, valueText(at[1].text), path+":string")
}

// schemaOf is the schema that the samples showed.
func (n *inferrer) schemaOf(mixed MixedPolicy) ([]arrow.Field, error) {
	if n.lines == 0 && n.broken > 0 {
		return nil, fmt.Errorf("infer schema: no line of the sample is a JSON object; %s: %w", n.path, n.first)
	}
	return n.root.schema("", mixed)
}

// lossy lists the columns whose whole numbers float64 cannot all hold.
func (s *shape) lossy(at string, out []string) []string {
	if s.given != nil {
		return out
	}
	if s.kinds&kindBig != 0 && (s.neg || s.kinds&kindFloat != 0) && s.kinds&^(kindInt|kindBig|kindFloat) == 0 {
		out = append(out, at)
	}
	for _, name := range s.keys {
		path := name
		if at != "" {
			path = at + "." + name
		}
		out = s.fields[name].lossy(path, out)
	}
	if s.elem != nil {
		out = s.elem.lossy(at+"[]", out)
	}
	return out
}
