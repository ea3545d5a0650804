package binary

import (
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// PathColumn is the column of the file's path.
const PathColumn = "path"

// Limits of one file, in bytes.
const (
	// DefaultMaxFile is the largest file that is read unless Options say otherwise.
	DefaultMaxFile = 256 << 20
	// maxMaxFile keeps a block, which is at most one file over its target, within the 2 GiB that 32-bit offsets reach.
	maxMaxFile    = 1 << 30
	maxBlockBytes = 512 << 20
	// maxBlockFiles keeps blocks small enough that decoding them is shared evenly among cores, that a limit reads little more than it
	// needs, and that what decoding makes of them fits the budget.
	maxBlockFiles = 64
)

// Options of reading whole files. The zero value stands for the defaults.
type Options struct {
	MaxFile dataset.ByteSize `json:"max_file,omitempty" doc:"largest file read; larger ones are row errors (256MiB)"`
	file.Hive
}

// Defaults implements dataset.Defaulter.
func (Options) Defaults() any { return Options{MaxFile: DefaultMaxFile} }

// Validate reports an option that is out of range.
func (o Options) Validate() error {
	if o.MaxFile < 0 || o.MaxFile > maxMaxFile {
		return dataset.Usagef("max_file=%s: must be between 1B and 1GiB", o.MaxFile)
	}
	return nil
}

// Config is what a connector whose rows are files says of itself.
type Config struct {
	Name    string // of the connector
	Version int
	Column  string         // the column of the bytes
	Type    arrow.DataType // binary, or an extension type on binary
}

// Default is the connector of this package.
var Default = Config{Name: "binary", Version: 1, Column: "data", Type: arrow.BinaryTypes.Binary}

// Splits are smaller than those of other sources: what follows a file of pictures or documents is slow, and work is to be shared early.
const splitBytes = 8 << 20

// Source reads whole files. It is immutable and safe for concurrent use.
type Source struct {
	cfg     Config
	set     *file.Set
	opt     Options
	planner file.Planner
	schema  *arrow.Schema
	limit   int64 // rows wanted of a split; 0: all
}

var (
	_ dataset.Source      = (*Source)(nil)
	_ dataset.Projectable = (*Source)(nil)
	_ dataset.LimitHint   = (*Source)(nil)
)

// NewSource makes a source of the files in set.
func NewSource(cfg Config, set *file.Set, opt Options) (*Source, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	if opt.MaxFile == 0 {
		opt.MaxFile = DefaultMaxFile
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: PathColumn, Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: cfg.Column, Type: cfg.Type, Nullable: true},
	}, nil)
	return &Source{cfg: cfg, set: set, opt: opt, schema: schema,
		planner: file.Planner{Range: file.WholeRange, TargetBytes: splitBytes}}, nil
}

// Name implements dataset.Source.
func (s *Source) Name() string { return s.cfg.Name }

// Version implements dataset.Source.
func (s *Source) Version() int { return s.cfg.Version }

// Params implements dataset.Source.
func (s *Source) Params() any {
	return struct {
		Paths   []dataset.Pattern `json:"paths"`
		Options Options           `json:"options"`
	}{s.set.Patterns(), s.opt}
}

// Schema implements dataset.Source. It looks at nothing: the columns are always the same.
func (s *Source) Schema(context.Context) (*arrow.Schema, error) { return s.schema, nil }

// Project implements dataset.Projectable. Without the column of bytes no file is opened.
func (s *Source) Project(columns []string) (dataset.Source, error) {
	out := *s
	var fields []arrow.Field
	for _, f := range s.schema.Fields() {
		if slices.Contains(columns, f.Name) {
			fields = append(fields, f)
		}
	}
	out.schema = arrow.NewSchema(fields, nil)
	return &out, nil
}

// LimitHint implements dataset.LimitHint: a first block holds no more files than are wanted.
func (s *Source) LimitHint(n int64) dataset.Source {
	out := *s
	out.limit = max(n, 0)
	return &out
}

// SplitBytes returns the source with splits of about n bytes (0: the default).
func (s *Source) SplitBytes(n int64) *Source {
	out := *s
	if out.planner.TargetBytes = n; n == 0 {
		out.planner.TargetBytes = splitBytes
	}
	return &out
}

// Splits implements dataset.Source.
func (s *Source) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return s.planner.Splits(ctx, s.set, after)
}

// Open implements dataset.Source.
func (s *Source) Open(_ context.Context, rt dataset.Runtime, split dataset.Split, offset uint64) (dataset.Reader, error) {
	s.set.Warn(rt.Warn)
	r := &reader{src: s, rt: rt, ranges: split.Ranges, target: min(max(rt.BlockBytes(), 1), maxBlockBytes), rows: min(max(rt.BlockRows(), 1), maxBlockFiles)}
	if s.limit > 0 {
		r.rows = int(min(int64(r.rows), s.limit))
	}
	if offset > 0 && len(r.ranges) > 0 {
		r.ranges = r.ranges[1:] // the first file is row 0 of itself, and was read
	}
	return r, nil
}
