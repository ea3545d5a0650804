package file

import (
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
)

// Hive is the read option for folders named key=value, as `by=` writes them; connectors embed it in their options.
type Hive struct {
	Hive string `json:"hive,omitempty" doc:"columns from folders named key=value: auto (when every file lies in such folders), off, or their types: \"year int64, lang string\""`
}

func (h Hive) hive() string { return h.Hive }

const (
	hiveAuto = "auto"
	hiveOff  = "off"
	// hiveSample is how many files are looked at for the keys and the types of their values.
	hiveSample = 1000
)

// hiveSource adds the columns that the folders of the files hold behind those of another source, and passes over files whose values
// cannot satisfy the predicate.
type hiveSource struct {
	dataset.Source                   // with what was pushed into it, but the projection
	set            *Set              // the files
	types          []hiveField       // given by the option; nil: whatever the folders say
	columns        []string          // wanted; nil: all
	predicate      *expr.Expr        // nil: none
	pin            *Pin[[]hiveField] // shared by all forms of the source
}

var (
	_ dataset.Source      = (*hiveSource)(nil)
	_ dataset.Projectable = (*hiveSource)(nil)
	_ dataset.Prunable    = (*hiveSource)(nil)
	_ dataset.LimitHint   = (*hiveSource)(nil)
	_ dataset.SizeHint    = (*hiveSource)(nil)
	_ dataset.Growing     = (*growingHive)(nil)
)

// growingHive is the form for sources whose files may grow.
type growingHive struct{ *hiveSource }

// Partitioned returns src, a source of the files of set, with the columns that their folders named key=value hold. option is that of Hive.
func Partitioned(src dataset.Source, set *Set, option string) (dataset.Source, error) {
	s := &hiveSource{Source: src, set: set, pin: &Pin[[]hiveField]{}}
	switch option {
	case hiveOff:
		return src, nil
	case "", hiveAuto:
	default:
		var err error
		if s.types, err = hiveTypes(option); err != nil {
			return nil, err
		}
	}
	return s.form(), nil
}

// form is the source as the engine sees it.
func (s *hiveSource) form() dataset.Source {
	if _, ok := s.Source.(dataset.Growing); ok {
		return &growingHive{s}
	}
	return s
}

func (s *hiveSource) with(change func(*hiveSource)) dataset.Source {
	out := *s
	change(&out)
	return out.form()
}

// Project implements dataset.Projectable. Which columns are those of folders is known only once these were looked at.
func (s *hiveSource) Project(columns []string) (dataset.Source, error) {
	return s.with(func(o *hiveSource) { o.columns = append([]string{}, columns...) }), nil
}

// Prune implements dataset.Prunable.
func (s *hiveSource) Prune(predicate *expr.Expr) dataset.Source {
	return s.with(func(o *hiveSource) {
		o.predicate = predicate
		if p, ok := s.Source.(dataset.Prunable); ok {
			o.Source = p.Prune(predicate)
		}
	})
}

// LimitHint implements dataset.LimitHint.
func (s *hiveSource) LimitHint(n int64) dataset.Source {
	return s.with(func(o *hiveSource) {
		if p, ok := s.Source.(dataset.LimitHint); ok {
			o.Source = p.LimitHint(n)
		}
	})
}

// SizeHint implements dataset.SizeHint.
func (s *hiveSource) SizeHint(ctx context.Context) (bytes, rows int64, ok bool) {
	if h, is := s.Source.(dataset.SizeHint); is && s.predicate == nil {
		return h.SizeHint(ctx)
	}
	return 0, 0, false
}

// Skipped implements dataset.Skipper.
func (s *hiveSource) Skipped() string {
	if k, ok := s.Source.(dataset.Skipper); ok {
		return k.Skipped()
	}
	return ""
}

// Mark implements dataset.Growing.
func (s *growingHive) Mark(ctx context.Context, f dataset.FileRef, n int64) (mark uint64, ended, ok bool, err error) {
	return s.Source.(dataset.Growing).Mark(ctx, f, n)
}

// fields are the columns of the folders, looked up the first time.
func (s *hiveSource) fields(ctx context.Context) ([]hiveField, error) {
	return s.pin.Get(func() ([]hiveField, error) { return hiveFields(ctx, s.set, s.types) })
}

// parts are the source of the files without the columns of their folders, and those of the latter that are wanted.
func (s *hiveSource) parts(ctx context.Context) (inner dataset.Source, wanted []hiveField, err error) {
	fields, err := s.fields(ctx)
	if err != nil {
		return nil, nil, err
	}
	if s.columns == nil {
		return s.Source, fields, nil
	}
	var own []string
	for _, c := range s.columns {
		if i := slices.IndexFunc(fields, func(f hiveField) bool { return f.name == c }); i >= 0 {
			wanted = append(wanted, fields[i])
		} else {
			own = append(own, c)
		}
	}
	slices.SortFunc(wanted, func(a, b hiveField) int { return a.at - b.at }) // the order of the full schema
	if p, ok := s.Source.(dataset.Projectable); ok {
		inner, err = p.Project(own)
		return inner, wanted, err
	}
	return s.Source, wanted, nil
}

// Schema implements dataset.Source.
func (s *hiveSource) Schema(ctx context.Context) (*arrow.Schema, error) {
	inner, wanted, err := s.parts(ctx)
	if err != nil {
		return nil, err
	}
	schema, err := inner.Schema(ctx)
	if err != nil || len(wanted) == 0 {
		return schema, err
	}
	return withHive(schema, wanted)
}

// withHive adds the columns of folders.
func withHive(schema *arrow.Schema, wanted []hiveField) (*arrow.Schema, error) {
	fields := slices.Clone(schema.Fields())
	for _, w := range wanted {
		if schema.HasField(w.name) {
			return nil, dataset.Usagef("column %q is in the files and in the names of their folders; pass hive=off to read that of the files", w.name)
		}
		fields = append(fields, arrow.Field{Name: w.name, Type: w.typ, Nullable: true})
	}
	md := schema.Metadata()
	return arrow.NewSchema(fields, &md), nil
}

// Splits implements dataset.Source. Ranges of files that cannot have a row that satisfies the predicate are left out.
func (s *hiveSource) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		fields, err := s.fields(ctx)
		if err != nil {
			yield(dataset.Split{}, err)
			return
		}
		if s.predicate != nil && len(fields) > 0 {
			ctx = leaving(ctx, func(dir string) bool { return s.excludes(fields, dir) })
		}
		for split, err := range s.Source.Splits(ctx, after) {
			if err == nil && s.predicate != nil && len(fields) > 0 {
				if split, err = s.pruned(fields, split); err == nil && len(split.Ranges) == 0 {
					continue
				}
			}
			if !yield(split, err) {
				return
			}
		}
	}
}

// pruned is what is left of a split.
func (s *hiveSource) pruned(fields []hiveField, split dataset.Split) (dataset.Split, error) {
	kept := split.Ranges[:0:0]
	for _, r := range split.Ranges {
		values, err := hiveValues(fields, r.File.Path)
		if err != nil {
			return split, err
		}
		if s.predicate.MayMatch(func(column string) (expr.ColumnStats, bool) { return hiveStats(fields, values, column) }) {
			kept = append(kept, r)
		}
	}
	if n := len(split.Ranges); len(kept) < n {
		split.Bytes = split.Bytes * int64(len(kept)) / int64(n)
	}
	split.Ranges = kept
	return split, nil
}

// Open implements dataset.Source.
func (s *hiveSource) Open(ctx context.Context, rt dataset.Runtime, sp dataset.Split, offset uint64) (dataset.Reader, error) {
	inner, wanted, err := s.parts(ctx)
	if err != nil {
		return nil, err
	}
	r, err := inner.Open(ctx, rt, sp, offset)
	if err != nil || len(wanted) == 0 {
		return r, err
	}
	return &hiveReader{Reader: r, mem: rt.Allocator(), fields: wanted}, nil
}
