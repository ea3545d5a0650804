package csv

import (
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/dataset"
)

// Limits that hold unless Options say otherwise.
const (
	// DefaultMaxRecord is the longest record that is read, in bytes. Longer ones are row errors.
	DefaultMaxRecord = 32 << 20
	// DefaultMaxColumns is how many columns a file may have.
	DefaultMaxColumns = 16384
)

// RaggedPolicy says what happens to records whose number of fields is not that of the header.
type RaggedPolicy string

// The policies for ragged records.
const (
	RaggedError RaggedPolicy = "error" // the record is a row error
	RaggedNull  RaggedPolicy = "null"  // missing fields are null, surplus ones are dropped; both are counted in a warning
	RaggedSkip  RaggedPolicy = "skip"  // the record is left out and counted in a warning
)

// InferPolicy says how columns get their types.
type InferPolicy string

// The policies of inference.
const (
	InferTypes   InferPolicy = "types"   // int64, float64, bool, date, timestamp or string, by what the sample holds
	InferStrings InferPolicy = "strings" // every column is a string
)

// Encoding is how the bytes of a file stand for text.
type Encoding = charset.Encoding

// InvalidPolicy says what happens to text that is not valid in its encoding.
type InvalidPolicy string

// The policies for invalid text.
const (
	InvalidError   InvalidPolicy = "error"   // the record is a row error
	InvalidReplace InvalidPolicy = "replace" // each fault becomes U+FFFD
)

// Options of reading. The zero value stands for the defaults.
type Options struct {
	Schema     string           `json:"schema,omitempty" doc:"types of columns, the others are inferred: \"id int64, at timestamp\"; without a header it names the columns in order"`
	Delim      string           `json:"delim,omitempty" doc:"what separates fields: one character, or tab (a comma; of tsv a tab)"`
	Quote      *string          `json:"quote,omitempty" doc:"what encloses fields; \"\" if nothing does (\")"`
	Escape     string           `json:"escape,omitempty" doc:"a character that takes the meaning of the next one away, such as a backslash; doubled quotes are read always"`
	Header     *bool            `json:"header,omitempty" doc:"whether the first record names the columns (true)"`
	Comment    string           `json:"comment,omitempty" doc:"lines that begin with this character are passed over"`
	Null       []string         `json:"null,omitempty" doc:"spellings of null besides the empty field: null=\"NA\" or null=NA,NULL"`
	Thousands  string           `json:"thousands,omitempty" doc:"a character between groups of digits that numbers are read without"`
	Decimal    string           `json:"decimal,omitempty" doc:"the decimal mark of numbers (.)"`
	Encoding   Encoding         `json:"encoding,omitempty" doc:"utf-8, utf-16, utf-16le, utf-16be, latin1 or windows-1252 (utf-8, or what a byte order mark says)"`
	Ragged     RaggedPolicy     `json:"ragged,omitempty" doc:"records with too few or too many fields: error, null (fill and cut) or skip"`
	Infer      InferPolicy      `json:"infer,omitempty" doc:"types, or strings (every column is text)"`
	Invalid    InvalidPolicy    `json:"invalid,omitempty" doc:"text that is not valid: error, or replace (by U+FFFD)"`
	MaxRecord  dataset.ByteSize `json:"max_record,omitempty" doc:"longest record read; longer ones are row errors (32MiB)"`
	MaxField   dataset.ByteSize `json:"max_field,omitempty" doc:"longest field read; longer ones are row errors (max_record)"`
	MaxColumns int              `json:"max_columns,omitempty" doc:"most columns a file may have (16384)"`
	WithPath   bool             `json:"with_path,omitempty" doc:"add the column path, the file of each row"`
	file.Hive
}

// PathColumn is the column that Options.WithPath adds.
const PathColumn = "path"

// A block is at most maxBlockBytes and one record, which may grow threefold when every byte of it is replaced by U+FFFD: together
// they stay under the 2 GiB that 32-bit offsets reach.
const (
	maxMaxRecord  = 512 << 20
	maxBlockBytes = 256 << 20
)

// Defaults implements dataset.Defaulter.
func (Options) Defaults() any { return Options{}.withDefaults() }

// withDefaults fills in what was not given.
func (o Options) withDefaults() Options {
	if o.Delim == "" {
		o.Delim = ","
	}
	if o.Quote == nil {
		o.Quote = new(`"`)
	}
	if o.Header == nil {
		o.Header = new(true)
	}
	if o.Decimal == "" {
		o.Decimal = "."
	}
	if o.Ragged == "" {
		o.Ragged = RaggedError
	}
	if o.Infer == "" {
		o.Infer = InferTypes
	}
	if o.Invalid == "" {
		o.Invalid = InvalidError
	}
	if o.MaxRecord == 0 {
		o.MaxRecord = DefaultMaxRecord
	}
	if o.MaxField == 0 {
		o.MaxField = o.MaxRecord
	}
	if o.MaxColumns == 0 {
		o.MaxColumns = DefaultMaxColumns
	}
	return o
}

// Validate reports the first option that is out of range, naming the value and what is allowed.
func (o Options) Validate() error {
	o = o.withDefaults()
	if _, err := o.dialect(); err != nil {
		return err
	}
	switch {
	case o.Ragged != RaggedError && o.Ragged != RaggedNull && o.Ragged != RaggedSkip:
		return dataset.Usagef("ragged=%s: must be error, null or skip", o.Ragged)
	case o.Infer != InferTypes && o.Infer != InferStrings:
		return dataset.Usagef("infer=%s: must be types or strings", o.Infer)
	case o.Invalid != InvalidError && o.Invalid != InvalidReplace:
		return dataset.Usagef("invalid=%s: must be error or replace", o.Invalid)
	case !o.Encoding.Known():
		return dataset.Usagef("encoding=%s: must be %s", o.Encoding, charset.Names)
	case o.MaxRecord < 1<<10 || o.MaxRecord > maxMaxRecord:
		return dataset.Usagef("max_record=%s: must be between 1KiB and 512MiB", o.MaxRecord)
	case o.MaxField < 1 || o.MaxField > o.MaxRecord:
		return dataset.Usagef("max_field=%s: must be between 1B and max_record=%s", o.MaxField, o.MaxRecord)
	case o.MaxColumns < 1 || o.MaxColumns > 1<<20:
		return dataset.Usagef("max_columns=%d: must be between 1 and 1048576", o.MaxColumns)
	}
	_, err := o.columnTypes()
	return err
}

// columnTypes reads the schema option. A column name may hold a dot: CSV has nothing inside columns.
func (o Options) columnTypes() ([]file.ColumnType, error) {
	types, err := file.ParseSchema(o.Schema)
	if err != nil {
		return nil, err
	}
	for i, c := range types {
		name := strings.Join(c.Path, ".")
		types[i].Path = []string{name}
		if !readable(c.Type) {
			return nil, dataset.Usagef("schema=: column %q cannot be read as %s; CSV has no nested columns", name, c.Type)
		}
	}
	return types, nil
}

// dialect is how records and fields are told apart.
type dialect struct {
	delim   byte
	quote   byte // 0: none
	escape  byte // 0: none
	comment byte // 0: none
}

// namedChars are the delimiters that have names, because a shell makes them hard to type.
var namedChars = map[string]string{"tab": "\t", `\t`: "\t", "space": " ", "pipe": "|", "comma": ",", "semicolon": ";"}

// dialect checks the options that are single characters.
func (o Options) dialect() (d dialect, err error) {
	quote := *o.Quote
	if quote == "none" {
		quote = ""
	}
	delim := o.Delim
	if c, ok := namedChars[delim]; ok {
		delim = c
	}
	for _, x := range []struct {
		name, text string
		at         *byte
	}{{"delim", delim, &d.delim}, {"quote", quote, &d.quote}, {"escape", o.Escape, &d.escape}, {"comment", o.Comment, &d.comment}} {
		if x.text == "" {
			continue
		}
		if len(x.text) != 1 || !separates(x.text[0]) {
			return d, dataset.Usagef("%s=%q: must be one ASCII character that is no letter, digit, point, sign or line end", x.name, x.text)
		}
		*x.at = x.text[0]
	}
	if d.escape == d.quote {
		d.escape = 0 // doubling is always read
	}
	used := map[byte]string{}
	for _, x := range []struct {
		name string
		c    byte
	}{{"delim", d.delim}, {"quote", d.quote}, {"escape", d.escape}, {"comment", d.comment}} {
		if x.c == 0 {
			continue
		}
		if other, taken := used[x.c]; taken {
			return d, dataset.Usagef("%s=%q: %s is the same character", x.name, x.c, other)
		}
		used[x.c] = x.name
	}
	return d, o.checkMarks(d)
}

// checkMarks checks the marks inside numbers.
func (o Options) checkMarks(d dialect) error {
	for _, x := range []struct{ name, text string }{{"thousands", o.Thousands}, {"decimal", o.Decimal}} {
		switch {
		case x.text == "":
		case len(x.text) != 1 || !separates(x.text[0]) && x.text != ".":
			return dataset.Usagef("%s=%q: must be one ASCII character that is no letter, digit or sign", x.name, x.text)
		}
	}
	if o.Thousands == o.Decimal {
		return dataset.Usagef("thousands=%q: it is the decimal mark too; pass decimal= as well", o.Thousands)
	}
	return nil
}

// separates reports whether a character can have a meaning of its own: it is in no number and ends no line.
func separates(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '.', c == '+', c == '-', c == '\n', c == '\r', c == 0, c >= 0x80:
		return false
	}
	return true
}
