package parquet

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
)

// Source reads Parquet files. Positions are row numbers in the file; a split
// names whole row groups. It is immutable and safe for concurrent use.
type Source struct {
	set         *file.Set
	opt         Options
	columns     []string // nil: all
	predicate   *expr.Expr
	targetBytes int64
	pin         *pin // shared by what was projected or pruned from one source
}

var (
	_ dataset.Source      = (*Source)(nil)
	_ dataset.Projectable = (*Source)(nil)
	_ dataset.Prunable    = (*Source)(nil)
	_ dataset.Skipper     = (*Source)(nil)
)

// NewSource makes a source of the files in set. Nothing is read before the
// schema is asked for.
func NewSource(set *file.Set, opt Options) (*Source, error) {
	for _, p := range set.Patterns() {
		if p.Text == file.StdinPath && !p.Literal {
			return nil, dataset.Usagef("read parquet: Parquet is read from its end, which standard input does not give; save it to a file first")
		}
	}
	return &Source{set: set, opt: opt, targetBytes: file.DefaultSplitBytes, pin: newPin(set, opt)}, nil
}

// Name implements dataset.Source.
func (s *Source) Name() string { return "parquet" }

// Version implements dataset.Source.
func (s *Source) Version() int { return 1 }

// Params implements dataset.Source.
func (s *Source) Params() any {
	return struct {
		Paths   []dataset.Pattern `json:"paths"`
		Options Options           `json:"options"`
	}{s.set.Patterns(), s.opt}
}

// Schema implements dataset.Source: the columns of the first file, with the
// types that a sample of others agrees on, all nullable.
func (s *Source) Schema(ctx context.Context) (*arrow.Schema, error) {
	full, err := s.pin.schema(ctx)
	if err != nil {
		return nil, err
	}
	return s.projected(full), nil
}

func (s *Source) projected(full *arrow.Schema) *arrow.Schema {
	if s.columns == nil {
		return full
	}
	fields := []arrow.Field{}
	for _, f := range full.Fields() {
		if slices.Contains(s.columns, f.Name) {
			fields = append(fields, f)
		}
	}
	md := full.Metadata()
	return arrow.NewSchema(fields, &md)
}

// Project implements dataset.Projectable. Only pages of the named columns are
// read.
func (s *Source) Project(columns []string) (dataset.Source, error) {
	out := *s
	out.columns = append([]string{}, columns...)
	return &out, nil
}

// Prune implements dataset.Prunable: row groups whose statistics exclude the
// predicate are left out of the splits.
func (s *Source) Prune(predicate *expr.Expr) dataset.Source {
	out := *s
	out.predicate = predicate
	if s.predicate != nil {
		out.predicate = expr.And(s.predicate, predicate)
	}
	return &out
}

// SplitBytes returns the source with splits of about n bytes (0: the default).
func (s *Source) SplitBytes(n int64) *Source {
	out := *s
	out.targetBytes = n
	if n <= 0 {
		out.targetBytes = file.DefaultSplitBytes
	}
	return &out
}

// Splits implements dataset.Source. It reads the footer of every file.
func (s *Source) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		var held dataset.Split
		flush := func() bool {
			out := held
			held = dataset.Split{}
			return len(out.Ranges) == 0 || yield(out, nil)
		}
		for l := range s.listed(ctx, after) {
			if l.err != nil {
				if flush() {
					yield(dataset.Split{}, l.err)
				}
				return
			}
			for _, r := range l.ranges {
				if l.ref.Path == after.Path && r.End <= after.End {
					continue
				}
				if (held.Bytes+r.bytes > s.targetBytes || len(held.Ranges) == file.DefaultSplitFiles) && !flush() {
					return
				}
				addRange(&held, r)
			}
		}
		flush()
	}
}

// addRange adds a row group to a split; neighbours in one file become one range.
func addRange(s *dataset.Split, r groupRange) {
	s.Bytes += r.bytes
	if n := len(s.Ranges); n > 0 && s.Ranges[n-1].File == r.File && s.Ranges[n-1].End == r.Start {
		s.Ranges[n-1].End = r.End
		return
	}
	s.Ranges = append(s.Ranges, r.SplitRange)
}

// files lists the files behind the cursor, the one that it lies in first.
func (s *Source) files(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) {
		if after.Path != "" {
			info, err := s.set.FS().Stat(ctx, after.Path)
			if !yield(info.FileRef, err) || err != nil {
				return
			}
		}
		s.set.Files(ctx, after.Path)(yield)
	}
}

// groupRange is one row group as a range of rows.
type groupRange struct {
	dataset.SplitRange
	bytes int64
}

// ranges lists the row groups of a file that the predicate does not exclude.
func (s *Source) ranges(ctx context.Context, ref dataset.FileRef) ([]groupRange, error) {
	f, err := s.pin.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	var out []groupRange
	first := uint64(0)
	for g := range f.NumRowGroups() {
		end := first + uint64(f.RowGroupRows(g))
		may := s.mayMatch(f, g)
		s.pin.skipped.groups.Add(1)
		if !may {
			s.pin.skipped.byStats.Add(1)
		}
		if end > first && may {
			compressed, _ := f.RowGroupBytes(g, s.columns)
			out = append(out, groupRange{dataset.SplitRange{File: ref, Start: first, End: end}, compressed})
		}
		first = end
	}
	return out, nil
}

func (s *Source) mayMatch(f *File, g int) bool {
	return s.predicate == nil || s.predicate.MayMatch(func(column string) (expr.ColumnStats, bool) {
		if s.opt.WithPath && column == PathColumn {
			return expr.ColumnStats{}, false
		}
		return f.Stats(g, column)
	})
}

// Open implements dataset.Source.
func (s *Source) Open(ctx context.Context, rt dataset.Runtime, split dataset.Split, offset uint64) (dataset.Reader, error) {
	full, err := s.pin.schema(ctx)
	if err != nil {
		return nil, err
	}
	if len(split.Ranges) == 0 {
		return nil, fmt.Errorf("read parquet: split names no files")
	}
	return &sourceReader{src: s, rt: rt, ctx: ctx, schema: s.projected(full), ranges: split.Ranges,
		first: split.Ranges[0].File.Path, offset: offset}, nil
}
