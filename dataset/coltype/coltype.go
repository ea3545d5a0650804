package coltype

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Column is one item of a schema option: a column, or a part of one, and its type.
type Column struct {
	Path []string // names from the outside in; ListElement stands for every element of a list
	Type arrow.DataType
}

// ListElement is the step of a Column's path that means the elements of a list.
const ListElement = "[]"

// Parse reads the text of a schema option: "id:int64, tags[]:string, user.name:string, "odd name":list<float32>". A space may stand
// for the colon ("id int64, at timestamp"). Types are those of Names.
func Parse(text string) ([]Column, error) {
	p := schemaParser{text: text}
	var out []Column
	for {
		p.blank()
		if p.i == len(p.text) {
			return out, nil
		}
		c, err := p.column()
		if err != nil {
			return nil, dataset.Usagef("schema=%q, byte %d: %v", text, p.i+1, err)
		}
		out = append(out, c)
	}
}

// ParseType reads the name of one type.
func ParseType(text string) (arrow.DataType, error) {
	p := schemaParser{text: text}
	t, err := p.typ()
	if err == nil {
		if p.blank(); p.i < len(p.text) {
			err = fmt.Errorf("there is more text after the type")
		}
	}
	if err != nil {
		return nil, dataset.Usagef("type %q: %v", text, err)
	}
	return t, nil
}

// Names are the names of types, for help. list<T>, list<T, size>, struct<name: T, …>, timestamp[unit] and decimal(p, s) take parts.
var Names = []string{"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
	"string", "large_string", "binary", "large_binary", "image", "date", "timestamp", "decimal", "list", "struct"}

var plainTypes = map[string]arrow.DataType{
	"bool": arrow.FixedWidthTypes.Boolean, "boolean": arrow.FixedWidthTypes.Boolean,
	"int8": arrow.PrimitiveTypes.Int8, "int16": arrow.PrimitiveTypes.Int16, "int32": arrow.PrimitiveTypes.Int32,
	"int64": arrow.PrimitiveTypes.Int64, "int": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "uint16": arrow.PrimitiveTypes.Uint16, "uint32": arrow.PrimitiveTypes.Uint32,
	"uint64": arrow.PrimitiveTypes.Uint64, "float32": arrow.PrimitiveTypes.Float32, "float64": arrow.PrimitiveTypes.Float64,
	"float": arrow.PrimitiveTypes.Float64, "double": arrow.PrimitiveTypes.Float64,
	"string": arrow.BinaryTypes.String, "text": arrow.BinaryTypes.String, "large_string": arrow.BinaryTypes.LargeString,
	"binary": arrow.BinaryTypes.Binary, "large_binary": arrow.BinaryTypes.LargeBinary, "image": block.Image, "date": arrow.FixedWidthTypes.Date32,
	"timestamp": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

// maxTypeDepth bounds how deep list<…> and struct<…> nest in an option.
const maxTypeDepth = 32

type schemaParser struct {
	text  string
	i     int
	depth int
}

func (p *schemaParser) blank() {
	for p.i < len(p.text) && strings.IndexByte(" \t\n,", p.text[p.i]) >= 0 {
		p.i++
	}
}

// eat passes a literal after blanks, if it is next.
func (p *schemaParser) eat(s string) bool {
	for p.i < len(p.text) && p.text[p.i] == ' ' {
		p.i++
	}
	if strings.HasPrefix(p.text[p.i:], s) {
		p.i += len(s)
		return true
	}
	return false
}

// column reads "path : type".
func (p *schemaParser) column() (c Column, err error) {
	for {
		name, err := p.name()
		if err != nil {
			return c, err
		}
		c.Path = append(c.Path, name)
		for p.eat(ListElement) {
			c.Path = append(c.Path, ListElement)
		}
		if !p.eat(".") {
			break
		}
	}
	if !p.eat(":") && p.text[p.i-1] != ' ' {
		return c, fmt.Errorf("want a colon and a type after %q", strings.Join(c.Path, "."))
	}
	c.Type, err = p.typ()
	return c, err
}

// name reads a word, or a quoted name with Go's escapes.
func (p *schemaParser) name() (string, error) {
	p.eat("")
	rest := p.text[p.i:]
	if strings.HasPrefix(rest, `"`) {
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", fmt.Errorf("a quoted name does not close")
		}
		p.i += len(q)
		return strconv.Unquote(q)
	}
	end := strings.IndexAny(rest, ":.,[]<>() \t\n")
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return "", fmt.Errorf("want a column name")
	}
	p.i += end
	return rest[:end], nil
}

func (p *schemaParser) typ() (arrow.DataType, error) {
	if p.depth++; p.depth > maxTypeDepth {
		return nil, fmt.Errorf("types nest deeper than %d", maxTypeDepth)
	}
	defer func() { p.depth-- }()
	name, err := p.name()
	if err != nil {
		return nil, fmt.Errorf("want a type")
	}
	name = strings.ToLower(name)
	switch {
	case name == "list" && p.eat("<"):
		return p.listType()
	case name == "struct" && p.eat("<"):
		return p.structType()
	case name == "timestamp" && p.eat("["):
		return p.timestamp()
	case name == "decimal" && p.eat("("):
		return p.decimal()
	}
	if t := plainTypes[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("unknown type %q%s", name, dataset.DidYouMean(name, append([]string(nil), Names...)))
}

// listType reads "T>" or "T, size>".
func (p *schemaParser) listType() (arrow.DataType, error) {
	elem, err := p.typ()
	if err != nil {
		return nil, err
	}
	size := int64(0)
	if p.eat(",") {
		word, err := p.name()
		if err == nil {
			size, err = strconv.ParseInt(word, 10, 32)
		}
		if err != nil || size < 1 {
			return nil, fmt.Errorf("want the size of the lists, 1 or more, after the comma")
		}
	}
	switch {
	case !p.eat(">"):
		return nil, fmt.Errorf("want > after the type of the list's elements")
	case size > 0:
		return arrow.FixedSizeListOf(int32(size), elem), nil
	}
	return arrow.ListOf(elem), nil
}

func (p *schemaParser) structType() (arrow.DataType, error) {
	var fields []arrow.Field
	for !p.eat(">") {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if !p.eat(":") {
			return nil, fmt.Errorf("want a colon and a type after %q", name)
		}
		t, err := p.typ()
		if err != nil {
			return nil, err
		}
		fields = append(fields, arrow.Field{Name: name, Type: t, Nullable: true})
		p.eat(",")
	}
	return arrow.StructOf(fields...), nil
}

func (p *schemaParser) timestamp() (arrow.DataType, error) {
	for unit, u := range map[string]arrow.TimeUnit{"s]": arrow.Second, "ms]": arrow.Millisecond, "us]": arrow.Microsecond, "ns]": arrow.Nanosecond} {
		if p.eat(unit) {
			return &arrow.TimestampType{Unit: u, TimeZone: "UTC"}, nil
		}
	}
	return nil, fmt.Errorf("want s, ms, us or ns and ] as the unit of the timestamp")
}

func (p *schemaParser) decimal() (arrow.DataType, error) {
	var n [2]int64
	for k, sep := range []string{",", ")"} {
		word, err := p.name()
		if err != nil {
			return nil, fmt.Errorf("want decimal(precision, scale)")
		}
		if n[k], err = strconv.ParseInt(word, 10, 32); err != nil || !p.eat(sep) {
			return nil, fmt.Errorf("want decimal(precision, scale)")
		}
	}
	if n[0] < 1 || n[0] > 38 || n[1] < 0 || n[1] > n[0] {
		return nil, fmt.Errorf("decimal(%d, %d): precision is 1 to 38, scale 0 to precision", n[0], n[1])
	}
	return &arrow.Decimal128Type{Precision: int32(n[0]), Scale: int32(n[1])}, nil
}
