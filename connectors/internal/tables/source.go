package tables

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// PathColumn is the column that with_path=true adds.
const PathColumn = "path"

// sampledFiles is how many files decide the schema.
const sampledFiles = 8

// Format reads files of one kind. It is immutable and safe for concurrent use. Its errors need not name the file.
type Format interface {
	Name() string
	Version() int
	// Options are the read options, JSON-marshalable.
	Options() any
	// Schema is that of one file, from a bounded look at it. Standard input may only be peeked at.
	Schema(ctx context.Context, set *file.Set, ref dataset.FileRef) (*arrow.Schema, error)
	// Pieces divides a file into ranges of about target bytes, in order, covering all its rows. Files that cannot be divided are one.
	Pieces(ctx context.Context, set *file.Set, ref dataset.FileRef, target int64) ([]Piece, error)
	// Open reads the rows of r with positions from on. want are the wanted columns; the file may have fewer. ctx ends with the reader.
	Open(ctx context.Context, rt dataset.Runtime, set *file.Set, r dataset.SplitRange, from uint64, want *arrow.Schema) (Rows, error)
}

// Piece is a range of positions of one file and the bytes that it is read from.
type Piece struct {
	Start, End uint64
	Bytes      int64
}

// Rows reads one range of a file in order.
type Rows interface {
	// Next gives the next rows, at least one: a record of those wanted columns that the file has, in their order, which the caller
	// releases, and the positions of its rows. After the last it returns io.EOF.
	Next(ctx context.Context) (arrow.RecordBatch, []block.Run, error)
	// Check reports a *file.ChangedError if the file is no longer the pinned version. It is called after the last row.
	Check() error
	Close() error
}

// Source reads files of one format. It is immutable and safe for concurrent use.
type Source struct {
	format   Format
	set      *file.Set
	withPath bool
	columns  []string // nil: all
	limit    int64    // rows wanted of a split; 0: all
	target   int64
	pin      *file.Pin[*arrow.Schema]
}

var (
	_ dataset.Source      = (*Source)(nil)
	_ dataset.Projectable = (*Source)(nil)
	_ dataset.LimitHint   = (*Source)(nil)
)

// NewSource makes a source of the files in set. Nothing is read before the schema is asked for.
func NewSource(set *file.Set, format Format, withPath bool) *Source {
	return &Source{format: format, set: set, withPath: withPath, target: file.DefaultSplitBytes, pin: &file.Pin[*arrow.Schema]{}}
}

// Name implements dataset.Source.
func (s *Source) Name() string { return s.format.Name() }

// Version implements dataset.Source.
func (s *Source) Version() int { return s.format.Version() }

// Params implements dataset.Source.
func (s *Source) Params() any {
	return struct {
		Paths   []dataset.Pattern `json:"paths"`
		Options any               `json:"options"`
	}{s.set.Patterns(), s.format.Options()}
}

// Schema implements dataset.Source: the columns of a sample of the files, all nullable.
func (s *Source) Schema(ctx context.Context) (*arrow.Schema, error) {
	full, err := s.pin.Get(func() (*arrow.Schema, error) { return s.look(ctx) })
	if err != nil {
		return nil, err
	}
	return file.Projected(full, s.columns), nil
}

// look makes the schema of the first files.
func (s *Source) look(ctx context.Context) (*arrow.Schema, error) {
	var fields []arrow.Field
	at := map[string]int{}
	first := map[string]string{} // the file that a column was first seen in
	n := 0
	for ref, err := range s.set.Files(ctx, "") {
		if err != nil {
			return nil, err
		}
		one, err := s.format.Schema(ctx, s.set, ref)
		if err != nil {
			return nil, s.named(ref, err)
		}
		seen := map[string]bool{}
		for _, f := range one.Fields() {
			if seen[f.Name] {
				return nil, fmt.Errorf("read %s: two columns are named %q; rename one in the program that writes it", ref.Path, f.Name)
			}
			seen[f.Name] = true
			f.Nullable = true
			i, known := at[f.Name]
			switch {
			case !known:
				at[f.Name], first[f.Name] = len(fields), ref.Path
				fields = append(fields, f)
			case !arrow.TypeEqual(fields[i].Type, f.Type):
				return nil, &TypeError{Path: ref.Path, Column: f.Name, Want: fields[i].Type, Got: f.Type, First: first[f.Name]}
			}
		}
		if n++; n == sampledFiles {
			break
		}
	}
	if n == 0 {
		return nil, dataset.Usagef("read %s: there are no files to take the schema from", s.Name())
	}
	if _, taken := at[PathColumn]; taken && s.withPath {
		return nil, dataset.Usagef("read %s: with_path=true adds the column %q, which %s has already", s.Name(), PathColumn, first[PathColumn])
	}
	if s.withPath {
		fields = append(fields, arrow.Field{Name: PathColumn, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	return arrow.NewSchema(fields, nil), nil
}

// named makes an error name the file.
func (s *Source) named(ref dataset.FileRef, err error) error {
	var usage *dataset.UsageError
	if err == nil || strings.Contains(err.Error(), ref.Path) && ref.Path != file.StdinPath {
		return err
	}
	name := ref.Path
	if name == file.StdinPath {
		name = "standard input"
	}
	if errors.As(err, &usage) {
		return dataset.Usagef("read %s: %w", name, usage.Err)
	}
	return fmt.Errorf("read %s: %w", name, err)
}

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

// SplitBytes returns the source with splits of about n bytes (0: the default).
func (s *Source) SplitBytes(n int64) *Source {
	out := *s
	if out.target = n; n <= 0 {
		out.target = file.DefaultSplitBytes
	}
	return &out
}

// Splits implements dataset.Source.
func (s *Source) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		var held dataset.Split
		flush := func() bool {
			out := held
			held = dataset.Split{}
			return len(out.Ranges) == 0 || yield(out, nil)
		}
		for ref, err := range s.files(ctx, after) {
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			var pieces []Piece
			if err == nil {
				pieces, err = s.format.Pieces(ctx, s.set, ref, s.target)
				err = s.named(ref, err)
			}
			if err != nil {
				if flush() {
					yield(dataset.Split{}, err)
				}
				return
			}
			for _, p := range pieces {
				if ref.Path == after.Path && p.End <= after.End {
					continue
				}
				if (held.Bytes+p.Bytes > s.target || len(held.Ranges) == file.DefaultSplitFiles) && !flush() {
					return
				}
				held.Ranges = append(held.Ranges, dataset.SplitRange{File: ref, Start: p.Start, End: p.End})
				held.Bytes += p.Bytes
			}
		}
		flush()
	}
}

// files lists the files behind the cursor, the one that it lies in first.
func (s *Source) files(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) {
		if after.Path == file.StdinPath {
			if !yield(dataset.FileRef{Path: after.Path}, nil) {
				return
			}
		} else if after.Path != "" {
			info, err := s.set.FS().Stat(ctx, after.Path)
			if !yield(info.FileRef, err) || err != nil {
				return
			}
		}
		s.set.Files(ctx, after.Path)(yield)
	}
}

// Open implements dataset.Source.
func (s *Source) Open(ctx context.Context, rt dataset.Runtime, split dataset.Split, offset uint64) (dataset.Reader, error) {
	schema, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	s.set.Warn(rt.Warn)
	r := &reader{src: s, rt: rt, ctx: ctx, schema: schema, want: schema, ranges: split.Ranges, offset: offset, left: -1}
	if n := schema.NumFields(); s.withPath && n > 0 && schema.Field(n-1).Name == PathColumn {
		r.path = true
		r.want = arrow.NewSchema(schema.Fields()[:n-1], nil)
	}
	if s.limit > 0 {
		r.left = s.limit
	}
	return r, nil
}

// TypeError says that a column of a file does not have the type that the schema was pinned to.
type TypeError struct {
	Path, Column string
	Want, Got    arrow.DataType
	First        string // the file that pinned the type, if known
}

func (e *TypeError) Error() string {
	in := ""
	if e.First != "" {
		in = " in " + e.First
	}
	return fmt.Sprintf("read %s: column %q has type %s, and %s%s: read the files apart and cast", e.Path, e.Column, e.Got, e.Want, in)
}

// Class implements dataset.Classed.
func (e *TypeError) Class() string { return "column has another type" }
