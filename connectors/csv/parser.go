package csv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/dataset"
)

// pad is how many bytes follow the records in a buffer: fields are searched eight bytes at a time.
const pad = 16

// What the functions of the parser return instead of a position.
const (
	incomplete = -1 // the record goes on behind the bytes at hand
	failed     = -2 // parser.fail says why
)

// failure is why a field or record is refused.
type failure struct {
	pos    int // in buf
	column int // in the file; -1: the record as a whole
	why    string
	class  string
	want   arrow.DataType // nil: the fault is not that of a value
	remedy string
}

// parser takes fields out of a buffer of records. Everything up to buf[to] is there, and buf[to-1] is a newline.
type parser struct {
	dialect
	values
	buf      []byte
	to       int
	final    bool   // nothing comes behind buf[to]
	delims   uint64 // the delimiter in every byte
	ascii    bool   // so is all of buf[:to]
	charset  *[128]rune
	replace  bool
	maxField int
	scratch  []byte // a field without its quotes and escapes
	recoded  []byte // a field in UTF-8
	fail     failure
}

func newParser(opt Options) (*parser, error) {
	d, err := opt.dialect()
	if err != nil {
		return nil, err
	}
	return &parser{dialect: d, values: newValues(opt), delims: uint64(d.delim) * ones, charset: charset.Table(opt.Encoding),
		replace: opt.Invalid == InvalidReplace, maxField: int(opt.MaxField)}, nil
}

// load sets the bytes to be parsed.
func (p *parser) load(buf []byte, from, to int, final bool) {
	p.buf, p.to, p.final = buf, to, final
	p.ascii = isASCII(buf[from:to])
}

const (
	ones     = 0x0101010101010101
	highs    = 0x8080808080808080
	newlines = '\n' * ones
)

// zeroByte marks the lowest zero byte of x with its high bit; marks above it mean nothing.
func zeroByte(x uint64) uint64 { return (x - ones) &^ x & highs }

// scan returns the position of the first delimiter or newline from i on.
func (p *parser) scan(i int) int {
	for {
		x := binary.LittleEndian.Uint64(p.buf[i:])
		if m := zeroByte(x^p.delims) | zeroByte(x^newlines); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
}

func isASCII(b []byte) bool {
	for len(b) >= 32 {
		x := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
			binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if x&highs != 0 {
			return false
		}
		b = b[32:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// term returns the position of the delimiter or newline that ends a field at i, or -1 if none does.
func (p *parser) term(i int) int {
	switch c := p.buf[i]; {
	case c == p.delim || c == '\n':
		return i
	case c == '\r' && p.buf[i+1] == '\n':
		return i + 1
	}
	return -1
}

// trimCR takes the carriage return off a field that ends in the line end at i.
func (p *parser) trimCR(from, i int) int {
	if p.buf[i] == '\n' && i > from && p.buf[i-1] == '\r' {
		return i - 1
	}
	return i
}

// field takes the field at i: its text, whether that stood in quotes, and the position of the delimiter or newline behind it. The text is
// valid until the next call.
func (p *parser) field(i int) (text []byte, quoted bool, end int) {
	if p.quote != 0 && p.buf[i] == p.quote {
		text, end = p.quoted(i)
		return text, true, end
	}
	if p.escape != 0 {
		return p.escaped(i)
	}
	end = p.scan(i)
	return p.buf[i:p.trimCR(i, end)], false, end
}

// skip passes the field at i.
func (p *parser) skip(i int) int {
	if p.escape != 0 {
		_, _, end := p.field(i)
		return end
	}
	if p.quote == 0 || p.buf[i] != p.quote {
		return p.scan(i)
	}
	for j := i + 1; ; {
		k := bytes.IndexByte(p.buf[j:p.to], p.quote)
		if k < 0 {
			return p.open(i)
		}
		j += k + 1
		if p.buf[j] != p.quote {
			if end := p.term(j); end >= 0 {
				return end
			}
			return p.behindQuote(j)
		}
		j++
	}
}

// quoted takes the field in quotes at i.
func (p *parser) quoted(i int) (text []byte, end int) {
	if p.escape == 0 {
		j := bytes.IndexByte(p.buf[i+1:p.to], p.quote)
		if j < 0 {
			return nil, p.open(i)
		}
		j += i + 1
		if end = p.term(j + 1); end >= 0 {
			return p.buf[i+1 : j], end
		}
	}
	p.scratch = p.scratch[:0]
	for j := i + 1; j < p.to; j++ {
		switch c := p.buf[j]; {
		case c == p.escape && c != 0:
			if j++; j == p.to {
				return nil, p.open(i)
			}
			p.scratch = append(p.scratch, p.buf[j])
		case c != p.quote:
			run := p.run(j)
			p.scratch = append(p.scratch, p.buf[j:run]...)
			j = run - 1
		case p.buf[j+1] == p.quote && j+1 < p.to:
			p.scratch = append(p.scratch, c)
			j++
		default:
			if end = p.term(j + 1); end < 0 {
				end = p.behindQuote(j + 1)
			}
			return p.scratch, end
		}
	}
	return nil, p.open(i)
}

// run is the end of the plain text between quotes that starts at j.
func (p *parser) run(j int) int {
	end := p.to
	if k := bytes.IndexByte(p.buf[j:p.to], p.quote); k >= 0 {
		end = j + k
	}
	if p.escape != 0 {
		if k := bytes.IndexByte(p.buf[j:end], p.escape); k >= 0 {
			end = j + k
		}
	}
	return end
}

// escaped takes the field at i, which has no quotes, with escapes.
func (p *parser) escaped(i int) (text []byte, quoted bool, end int) {
	plain := true
	p.scratch = p.scratch[:0]
	for j := i; j < p.to; j++ {
		switch c := p.buf[j]; {
		case c == p.escape:
			if plain {
				p.scratch = append(p.scratch, p.buf[i:j]...)
				plain = false
			}
			if j++; j < p.to {
				p.scratch = append(p.scratch, p.buf[j])
			}
		case c == p.delim || c == '\n':
			if plain {
				return p.buf[i:p.trimCR(i, j)], false, j
			}
			if n := len(p.scratch); c == '\n' && p.buf[j-1] == '\r' && n > 0 && (j < 2 || p.buf[j-2] != p.escape) {
				p.scratch = p.scratch[:n-1]
			}
			return p.scratch, false, j
		case !plain:
			p.scratch = append(p.scratch, c)
		}
	}
	if !p.final {
		return nil, false, incomplete
	}
	p.fail = failure{pos: i, why: "ends in an escape", class: "escape at the end of the file"}
	return nil, false, failed
}

// open reports that the quote at i does not close in the bytes at hand.
func (p *parser) open(i int) int {
	if !p.final {
		return incomplete
	}
	p.fail = failure{pos: i, why: "opens a quote that never closes", class: "quote not closed",
		remedy: `pass quote="" if quotes are ordinary text in this file`}
	return failed
}

// behindQuote reports text behind a closing quote.
func (p *parser) behindQuote(i int) int {
	if i >= p.to && !p.final {
		return incomplete
	}
	remedy := `double quotes inside fields, or pass quote="" if quotes are ordinary text in this file`
	switch c := p.buf[i]; {
	case p.escape == 0 && i > 1 && p.buf[i-2] == '\\':
		remedy = `pass escape="\\" if quotes inside fields stand behind a backslash`
	case c == ';' || c == ',' || c == '|':
		remedy = fmt.Sprintf("pass delim=%q if that separates the fields", string(c))
	case c == '\t':
		remedy = "pass delim=tab if tabs separate the fields"
	}
	p.fail = failure{pos: i, why: "stands behind a closing quote", class: "text behind a closing quote", remedy: remedy}
	return failed
}

// refuse reports the value of the field at i as unfit for a column of type want.
func (p *parser) refuse(i int, want arrow.DataType, why string) int {
	p.fail = failure{pos: i, why: why, class: "value is no " + want.String(), want: want}
	return failed
}

// value takes the field at i for a column that is not text: outer spaces go, and quotes mean nothing. Nothing left is null.
func (p *parser) value(i int) (text []byte, null bool, end int) {
	text, _, end = p.field(i)
	if end < 0 {
		return nil, false, end
	}
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for n := len(text); n > 0 && (text[n-1] == ' ' || text[n-1] == '\t'); n-- {
		text = text[:n-1]
	}
	return text, len(text) == 0 || p.nulls != nil && p.isNull(text), end
}

// text makes the text of a field UTF-8. at is where the field starts, for errors.
func (p *parser) text(b []byte, at int, want arrow.DataType) (out []byte, bad int) {
	if len(b) > p.maxField {
		p.fail = failure{pos: at, why: "is longer than max_field=" + dataset.ByteSize(p.maxField).String(), class: "field too long", want: nil,
			remedy: "raise max_field to read it"}
		return nil, failed
	}
	if p.ascii {
		return b, 0
	}
	if p.charset != nil {
		p.recoded = charset.Append(p.recoded[:0], b, p.charset)
		return p.recoded, 0
	}
	if utf8.Valid(b) {
		return b, 0
	}
	if p.replace {
		p.recoded = charset.AppendValid(p.recoded[:0], b)
		return p.recoded, 0
	}
	p.fail = failure{pos: at, why: "is not UTF-8", class: "text is not UTF-8",
		remedy: "pass encoding=latin1 or encoding=windows-1252 if it is that, or invalid=replace to read each fault as U+FFFD"}
	return nil, failed
}
