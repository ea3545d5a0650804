package text

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/dataset"
)

// DefaultMaxLine is the longest line that is read, in bytes. Longer ones are row errors.
const DefaultMaxLine = 32 << 20

// Encoding is how the bytes of a file stand for text.
type Encoding = charset.Encoding

// InvalidPolicy says what happens to lines that are not valid in their encoding.
type InvalidPolicy string

// The policies for invalid lines.
const (
	InvalidError   InvalidPolicy = "error"   // the line is a row error
	InvalidReplace InvalidPolicy = "replace" // each fault becomes U+FFFD
)

// Options of reading. The zero value stands for the defaults.
type Options struct {
	Encoding Encoding         `json:"encoding,omitempty" doc:"utf-8, utf-16, utf-16le, utf-16be, latin1 or windows-1252 (utf-8, or what a byte order mark says)"`
	Invalid  InvalidPolicy    `json:"invalid,omitempty" doc:"text that is not valid: error, or replace (by U+FFFD)"`
	MaxLine  dataset.ByteSize `json:"max_line,omitempty" doc:"longest line read; longer ones are row errors (32MiB)"`
	file.Hive
}

// A block is at most maxBlockBytes and one line, which may grow threefold when every byte of it is replaced by U+FFFD: together
// they stay under the 2 GiB that 32-bit offsets reach.
const (
	maxMaxLine    = 512 << 20
	maxBlockBytes = 256 << 20
)

// Defaults implements dataset.Defaulter.
func (Options) Defaults() any { return Options{}.withDefaults() }

// withDefaults fills in what was not given.
func (o Options) withDefaults() Options {
	if o.MaxLine == 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.Invalid == "" {
		o.Invalid = InvalidError
	}
	return o
}

// Validate reports the first option that is out of range, naming the value and what is allowed.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case !o.Encoding.Known():
		return dataset.Usagef("encoding=%s: must be %s", o.Encoding, charset.Names)
	case o.Invalid != InvalidError && o.Invalid != InvalidReplace:
		return dataset.Usagef("invalid=%s: must be error or replace", o.Invalid)
	case o.MaxLine < 1<<10 || o.MaxLine > maxMaxLine:
		return dataset.Usagef("max_line=%s: must be between 1KiB and 512MiB", o.MaxLine)
	}
	return nil
}
