package jsonl

import (
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// Limits that hold unless Options say otherwise.
const (
	// DefaultMaxLine is the longest line that is read, in bytes. Longer ones are row errors.
	DefaultMaxLine = 32 << 20
	// DefaultMaxDepth is how deep objects and arrays may nest, the line's own object included.
	DefaultMaxDepth = 128
)

// ExtraPolicy says what happens to keys that the schema does not have.
type ExtraPolicy string

// The policies for unseen keys.
const (
	ExtraIgnore ExtraPolicy = "ignore" // pass over them, count them by name and warn
	ExtraError  ExtraPolicy = "error"  // the line is a row error
	ExtraColumn ExtraPolicy = "column" // collect those of the top level as JSON in the column _extra
)

// ExtraColumnName is the column that ExtraColumn adds: a string that holds the unseen keys as a JSON object, or null.
const ExtraColumnName = "_extra"

// InvalidPolicy says what happens to text that is not Unicode: bytes that are not UTF-8, and lone surrogates in escapes.
type InvalidPolicy string

// The policies for text that is not Unicode.
const (
	InvalidError   InvalidPolicy = "error"   // the line is a row error
	InvalidReplace InvalidPolicy = "replace" // each fault becomes U+FFFD, as in encoding/json
)

// MixedPolicy says what inference does with a key whose values have no common type.
type MixedPolicy string

// The policies for keys of mixed types.
const (
	MixedError  MixedPolicy = "error"  // refuse at plan time, naming both places
	MixedString MixedPolicy = "string" // make it a string; values that are none keep their JSON text
)

// Options of reading JSON lines. The zero value stands for the defaults.
type Options struct {
	Schema   string           `json:"schema,omitempty" doc:"types of columns, the others are inferred: \"id:int64, user.name:string, tags[]:string\"; a string column takes any value"`
	Extra    ExtraPolicy      `json:"extra,omitempty" doc:"keys that the schema lacks: ignore (count and warn), error, or column (collect them in _extra)"`
	Mixed    MixedPolicy      `json:"mixed,omitempty" doc:"keys whose values have no common type: error, or string"`
	Invalid  InvalidPolicy    `json:"invalid,omitempty" doc:"text that is not Unicode: error, or replace (by U+FFFD)"`
	MaxLine  dataset.ByteSize `json:"max_line,omitempty" doc:"longest line read; longer ones are row errors (32MiB)"`
	MaxDepth int              `json:"max_depth,omitempty" doc:"deepest nesting read; deeper lines are row errors (128)"`
	WithPath bool             `json:"with_path,omitempty" doc:"add the column path, the file of each row"`
	file.Hive
}

// PathColumn is the column that Options.WithPath adds.
const PathColumn = "path"

// Defaults implements dataset.Defaulter.
func (Options) Defaults() any { return Options{}.withDefaults() }

// withDefaults fills in what was not given.
func (o Options) withDefaults() Options {
	if o.MaxLine == 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = DefaultMaxDepth
	}
	if o.Extra == "" {
		o.Extra = ExtraIgnore
	}
	if o.Invalid == "" {
		o.Invalid = InvalidError
	}
	if o.Mixed == "" {
		o.Mixed = MixedError
	}
	return o
}

// A block is at most maxBlockBytes and one line, which may grow threefold when every byte of it is replaced by U+FFFD: together
// they stay under the 2 GiB that 32-bit offsets reach.
const (
	maxMaxLine    = 512 << 20
	maxBlockBytes = 256 << 20
)

// Validate reports the first option that is out of range, naming the value and what is allowed.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case o.MaxLine < 1<<10 || o.MaxLine > maxMaxLine:
		return dataset.Usagef("max_line=%s: must be between 1KiB and 512MiB", o.MaxLine)
	case o.MaxDepth < 1 || o.MaxDepth > 10000:
		return dataset.Usagef("max_depth=%d: must be between 1 and 10000", o.MaxDepth)
	case o.Extra != ExtraIgnore && o.Extra != ExtraError && o.Extra != ExtraColumn:
		return dataset.Usagef("extra=%s: must be error, ignore or column", o.Extra)
	case o.Invalid != InvalidError && o.Invalid != InvalidReplace:
		return dataset.Usagef("invalid=%s: must be error or replace", o.Invalid)
	case o.Mixed != MixedError && o.Mixed != MixedString:
		return dataset.Usagef("mixed=%s: must be error or string", o.Mixed)
	}
	_, err := file.ParseSchema(o.Schema)
	return err
}
