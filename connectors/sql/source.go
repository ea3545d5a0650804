package sql

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
)

// Source reads a table or a query of a database. It is immutable and safe for concurrent use.
type Source struct {
	name    string // of the kind of database
	shown   string // what is read, for people
	what    selection
	db      database
	columns []string // nil: all
	where   *expr.Expr
	limit   int64
	target  int64
	pin     *file.Pin[*relation]
	session *session
}

var (
	_ dataset.Source      = (*Source)(nil)
	_ dataset.Projectable = (*Source)(nil)
	_ dataset.Prunable    = (*Source)(nil)
	_ dataset.LimitHint   = (*Source)(nil)
	_ dataset.Holder      = (*Source)(nil)
)

func newSource(name, place string, db database, what selection, split int64) *Source {
	if split == 0 {
		split = file.DefaultSplitBytes
	}
	what.query = strings.TrimRight(strings.TrimSpace(what.query), "; \t\r\n")
	return &Source{name: name, shown: what.shownAs(place), what: what, db: db, target: split, pin: &file.Pin[*relation]{}, session: &session{db: db}}
}

// Name implements dataset.Source.
func (s *Source) Name() string { return s.name }

// Version implements dataset.Source.
func (s *Source) Version() int { return 1 }

// Params implements dataset.Source.
func (s *Source) Params() any {
	p := struct {
		Source string `json:"source"`
		Query  string `json:"query,omitempty"`
		By     string `json:"by,omitempty"`
		Schema string `json:"schema,omitempty"`
	}{s.shown, s.what.query, s.what.by, s.what.schema}
	return p
}

// relation looks at the database once.
func (s *Source) relation(ctx context.Context) (*relation, error) {
	return s.pin.Get(func() (*relation, error) {
		rel, err := s.db.describe(ctx, s.what)
		if err != nil {
			return nil, s.named(err)
		}
		seen := map[string]bool{}
		for _, c := range rel.cols {
			if seen[c.name] {
				return nil, dataset.Usagef("read %s: two columns are named %q; give one another name in the query (… AS name)", s.shown, c.name)
			}
			seen[c.name] = true
		}
		return rel, nil
	})
}

// named makes an error name what is read.
func (s *Source) named(err error) error {
	if err == nil {
		return nil
	}
	if u, ok := errors.AsType[*dataset.UsageError](err); ok {
		return dataset.Usagef("read %s: %w", s.shown, u.Err)
	}
	if t, ok := errors.AsType[*dataset.TransientError](err); ok {
		return &dataset.TransientError{Err: fmt.Errorf("read %s: %w", s.shown, t.Err), After: t.After}
	}
	return fmt.Errorf("read %s: %w", s.shown, err)
}

// wanted are the columns that are read.
func (s *Source) wanted(rel *relation) []column {
	if s.columns == nil {
		return rel.cols
	}
	out := []column{}
	for _, c := range rel.cols {
		if slices.Contains(s.columns, c.name) {
			out = append(out, c)
		}
	}
	return out
}

// Schema implements dataset.Source: all columns may be null.
func (s *Source) Schema(ctx context.Context) (*arrow.Schema, error) {
	rel, err := s.relation(ctx)
	if err != nil {
		return nil, err
	}
	return schemaOf(s.wanted(rel)), nil
}

func schemaOf(cols []column) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.name, Type: c.typ, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// Project implements dataset.Projectable.
func (s *Source) Project(columns []string) (dataset.Source, error) {
	out := *s
	out.columns = append([]string{}, columns...)
	return &out, nil
}

// Prune implements dataset.Prunable: what SQL can say of the condition is asked of the database.
func (s *Source) Prune(predicate *expr.Expr) dataset.Source {
	out := *s
	if out.where = predicate; s.where != nil {
		out.where = expr.And(s.where, predicate)
	}
	return &out
}

// LimitHint implements dataset.LimitHint: queries get a LIMIT.
func (s *Source) LimitHint(n int64) dataset.Source {
	out := *s
	out.limit = max(n, 0)
	return &out
}

// Hold implements dataset.Holder: until release, all readers see one state of the database.
func (s *Source) Hold(ctx context.Context) (release func() error, err error) {
	_, release, err = s.session.use(ctx)
	return release, s.named(err)
}

// Splits implements dataset.Source.
func (s *Source) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		splits, err := s.list(ctx, after)
		if err != nil {
			yield(dataset.Split{}, s.named(err))
			return
		}
		for _, sp := range splits {
			if ctx.Err() != nil {
				yield(dataset.Split{}, context.Cause(ctx))
				return
			}
			if !yield(sp, nil) {
				return
			}
		}
	}
}

func (s *Source) list(ctx context.Context, after dataset.Cursor) (out []dataset.Split, err error) {
	rel, err := s.relation(ctx)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	v, release, err := s.session.use(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	b, err := v.bounds(ctx, rel, s.target)
	if err != nil {
		s.session.mark(v, err)
		return nil, err
	}
	ranges, err := divide(rel.key, b, s.shown, v.version(), s.target, after)
	if err != nil {
		return nil, err
	}
	ref := v.pin()
	for _, r := range ranges {
		ref.Path = r.path
		out = append(out, dataset.Split{Bytes: b.bytes / int64(len(ranges)),
			Ranges: []dataset.SplitRange{{File: ref, Start: r.start, End: r.end}}})
	}
	return out, nil
}

// Open implements dataset.Source.
func (s *Source) Open(ctx context.Context, rt dataset.Runtime, split dataset.Split, offset uint64) (dataset.Reader, error) {
	rel, err := s.relation(ctx)
	if err != nil {
		return nil, err
	}
	v, release, err := s.session.use(ctx)
	if err != nil {
		return nil, s.named(err)
	}
	r := &reader{src: s, ctx: ctx, rt: rt, rel: rel, view: v, release: release, cols: s.wanted(rel), ranges: split.Ranges, offset: offset, left: -1}
	r.schema = schemaOf(r.cols)
	if s.limit > 0 {
		r.left = s.limit
	}
	if s.where != nil {
		r.where, r.args = condition(s.db, rel.cols, s.where)
	}
	for _, x := range split.Ranges {
		if err := r.check(x.File); err != nil {
			return nil, errors.Join(s.named(err), release())
		}
	}
	return r, nil
}
