package jsonl

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// Source reads files of JSON lines. It is immutable and safe for concurrent use.
type Source struct {
	set     *file.Set
	opt     Options
	columns []string // nil: all
	limit   int64    // rows wanted of a split; 0: all
	planner file.Planner
	pin     *file.Pin[*pinned]
}

var (
	_ dataset.Source      = (*Source)(nil)
	_ dataset.Projectable = (*Source)(nil)
	_ dataset.LimitHint   = (*Source)(nil)
)

// NewSource makes a source of the files in set. Nothing is read before the schema is asked for.
func NewSource(set *file.Set, opt Options) (*Source, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	return &Source{set: set, opt: opt.withDefaults(), pin: &file.Pin[*pinned]{}}, nil
}

// Name implements dataset.Source.
func (s *Source) Name() string { return "jsonl" }

// Version implements dataset.Source.
func (s *Source) Version() int { return 1 }

// Params implements dataset.Source.
func (s *Source) Params() any {
	return struct {
		Paths   []dataset.Pattern `json:"paths"`
		Options Options           `json:"options"`
	}{s.set.Patterns(), s.opt}
}

// pinned returns the pinned schema, looking at the data the first time.
func (s *Source) pinned(ctx context.Context) (*pinned, error) {
	return s.pin.Get(func() (*pinned, error) { return pin(ctx, s.set, s.opt) })
}

// Schema implements dataset.Source.
func (s *Source) Schema(ctx context.Context) (*arrow.Schema, error) {
	p, err := s.pinned(ctx)
	if err != nil {
		return nil, err
	}
	return s.projected(p), nil
}

// projected is the schema of the blocks.
func (s *Source) projected(p *pinned) *arrow.Schema { return file.Projected(p.schema, s.columns) }

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
	p := s.planner
	if p.TargetBytes <= 0 {
		p.TargetBytes = file.DefaultSplitBytes
	}
	p.Range = s.ranges(ctx, p.TargetBytes)
	return p.Splits(ctx, s.set, after)
}

// Open implements dataset.Source.
func (s *Source) Open(ctx context.Context, rt dataset.Runtime, split dataset.Split, offset uint64) (dataset.Reader, error) {
	p, err := s.pinned(ctx)
	if err != nil {
		return nil, err
	}
	return newReader(ctx, s, p, rt, split, offset)
}

// SplitBytes returns the source with splits of about n bytes (0: the default).
func (s *Source) SplitBytes(n int64) *Source {
	out := *s
	out.planner.TargetBytes = n
	return &out
}

// Pinned returns the source with the schema that from was pinned to, instead of looking at its own files: how a nightly job keeps the
// schema of its first run.
func (s *Source) Pinned(from *Source) *Source {
	out := *s
	out.pin = from.pin
	return &out
}
