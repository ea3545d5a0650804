package text

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/dataset"
)

// The columns of every text.
const (
	PathColumn = "path"
	TextColumn = "text"
)

var schema = arrow.NewSchema([]arrow.Field{
	{Name: PathColumn, Type: arrow.BinaryTypes.String},
	{Name: TextColumn, Type: arrow.BinaryTypes.String},
}, nil)

// Source reads files as lines. It is immutable and safe for concurrent use.
type Source struct {
	set        *file.Set
	opt        Options
	columns    []string // nil: all
	limit      int64    // rows wanted of a split; 0: all
	splitBytes int64    // 0: the default
}

var (
	_ dataset.Source      = (*Source)(nil)
	_ dataset.Projectable = (*Source)(nil)
	_ dataset.LimitHint   = (*Source)(nil)
)

// NewSource makes a source of the files in set.
func NewSource(set *file.Set, opt Options) (*Source, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	return &Source{set: set, opt: opt.withDefaults()}, nil
}

// Name implements dataset.Source.
func (s *Source) Name() string { return "text" }

// Version implements dataset.Source.
func (s *Source) Version() int { return 1 }

// Params implements dataset.Source.
func (s *Source) Params() any {
	return struct {
		Paths   []dataset.Pattern `json:"paths"`
		Options Options           `json:"options"`
	}{s.set.Patterns(), s.opt}
}

// Schema implements dataset.Source.
func (s *Source) Schema(context.Context) (*arrow.Schema, error) { return s.schema(), nil }

func (s *Source) schema() *arrow.Schema { return file.Projected(schema, s.columns) }

// Project implements dataset.Projectable.
func (s *Source) Project(columns []string) (dataset.Source, error) {
	out := *s
	out.columns = append([]string{}, columns...)
	return &out, nil
}

// LimitHint implements dataset.LimitHint: readers end after n rows.
func (s *Source) LimitHint(n int64) dataset.Source {
	out := *s
	out.limit = max(n, 0)
	return &out
}

// Splits implements dataset.Source.
func (s *Source) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	target := s.splitBytes
	if target <= 0 {
		target = file.DefaultSplitBytes
	}
	p := file.Planner{TargetBytes: target, Range: func(f dataset.FileRef) (start, end uint64, cut bool) {
		if f.Size <= target || !s.cuts(ctx, f) {
			return 0, file.Unbounded, false
		}
		return 0, uint64(f.Size), true
	}}
	return p.Splits(ctx, s.set, after)
}

// cuts reports whether a file may be cut: its bytes are its text. A file that cannot be looked at is cut; its reader says what is wrong.
func (s *Source) cuts(ctx context.Context, f dataset.FileRef) bool {
	if _, _, cut := file.ByteRange(f); !cut {
		return false
	}
	if s.opt.Encoding != "" {
		return !charset.Wide(s.opt.Encoding, nil)
	}
	head, _, err := s.set.Sample(ctx, f, len(charset.Mark))
	return err != nil || !charset.Wide("", head)
}

// Open implements dataset.Source.
func (s *Source) Open(ctx context.Context, rt dataset.Runtime, split dataset.Split, offset uint64) (dataset.Reader, error) {
	return newReader(ctx, s, rt, split, offset), nil
}

// SplitBytes returns the source with splits of about n bytes (0: the default).
func (s *Source) SplitBytes(n int64) *Source {
	out := *s
	out.splitBytes = n
	return &out
}
