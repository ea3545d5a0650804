package parquet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
	"github.com/sluice-data/sluice/dataset"
)

const (
	// sampledFiles is how many footers decide the schema.
	sampledFiles = 8
	// keptFooters is how many footers are remembered between listing and
	// reading.
	keptFooters = 16
)

// pin holds what the projections and prunings of one source share: the schema,
// once it is known, and the last footers read.
type pin struct {
	set *file.Set
	opt Options
	skipped
	mu struct {
		sync.Mutex
		schema  *arrow.Schema
		footers []footer // the latest last
	}
}

type footer struct {
	ref  dataset.FileRef
	meta *meta.FileMetaData
}

func newPin(set *file.Set, opt Options) *pin { return &pin{set: set, opt: opt} }

// footer returns the footer of a file, read before or now.
func (p *pin) footer(ctx context.Context, ref dataset.FileRef) (*meta.FileMetaData, error) {
	p.mu.Lock()
	i := slices.IndexFunc(p.mu.footers, func(f footer) bool { return f.ref == ref })
	if i >= 0 {
		m := p.mu.footers[i].meta
		p.mu.Unlock()
		return m, nil
	}
	p.mu.Unlock()
	h, err := p.set.FS().Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	if a, ok := h.(file.Announcer); ok { // one wait for what tells that it is Parquet
		first, last, n := meta.Ends(ref.Size)
		a.Announce([]file.Part{{Len: first}, {Off: last, Len: n}})
	}
	m, err := meta.Read(h, ref.Size)
	if err == nil {
		err = h.Check()
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", ref.Path, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.footers) == keptFooters {
		p.mu.footers = slices.Delete(p.mu.footers, 0, 1)
	}
	p.mu.footers = append(p.mu.footers, footer{ref, m})
	return m, nil
}

// open returns a file without its bytes, for its row groups and statistics.
func (p *pin) open(ctx context.Context, ref dataset.FileRef) (*File, error) {
	m, err := p.footer(ctx, ref)
	if err != nil {
		return nil, err
	}
	s, err := schema.FromFile(m)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref.Path, err)
	}
	return &File{size: ref.Size, meta: m, schema: s}, nil
}

// schema returns the pinned schema, looking at the files the first time.
func (p *pin) schema(ctx context.Context) (*arrow.Schema, error) {
	p.mu.Lock()
	s := p.mu.schema
	p.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := p.look(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.schema == nil {
		p.mu.schema = s
	}
	return p.mu.schema, nil
}

func (p *pin) look(ctx context.Context) (*arrow.Schema, error) {
	var fields []arrow.Field
	var md arrow.Metadata
	first := ""
	n := 0
	for ref, err := range p.set.Files(ctx, "") {
		if err != nil {
			return nil, err
		}
		f, err := p.open(ctx, ref)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			first, md = ref.Path, f.Schema().Metadata()
			for _, c := range f.Schema().Fields() {
				fields = append(fields, schema.Relaxed(c))
			}
		} else if err := widenAll(fields, f.Schema(), first, ref.Path); err != nil {
			return nil, err
		}
		if n++; n == sampledFiles {
			break
		}
	}
	if n == 0 {
		return nil, dataset.Usagef("read parquet: there are no files to take the schema from")
	}
	if err := checkNames(fields, first); err != nil {
		return nil, err
	}
	if p.opt.WithPath {
		if slices.ContainsFunc(fields, func(f arrow.Field) bool { return f.Name == PathColumn }) {
			return nil, dataset.Usagef("read %s: with_path=true adds the column %q, which the file has already", first, PathColumn)
		}
		fields = append(fields, arrow.Field{Name: PathColumn, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	return arrow.NewSchema(fields, &md), nil
}

func checkNames(fields []arrow.Field, path string) error {
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.Name] {
			return fmt.Errorf("read %s: two columns are named %q", path, f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// widenAll widens the pinned fields where the other file has wider ones.
func widenAll(fields []arrow.Field, other *arrow.Schema, first, path string) error {
	for i := range fields {
		at := other.FieldIndices(fields[i].Name)
		if len(at) == 0 {
			continue
		}
		o := schema.Relaxed(other.Field(at[0]))
		t, ok := common(fields[i].Type, o.Type)
		if !ok {
			return &TypeError{Path: path, Column: o.Name, Want: fields[i].Type, Got: o.Type, First: first}
		}
		fields[i].Type = t
	}
	return nil
}

// TypeError says that a column of a file does not have the type that the
// schema was pinned to.
type TypeError struct {
	Path, Column string
	Want, Got    arrow.DataType
	First        string // the file that pinned the type, if known
}

func (e *TypeError) Error() string {
	s := fmt.Sprintf("read %s: column %q has type %s, which does not widen safely to %s", e.Path, e.Column, e.Got, e.Want)
	if e.First != "" {
		s += ", the type in " + e.First
	}
	return s + ": read the files apart and cast"
}

// Class implements dataset.Classed.
func (e *TypeError) Class() string { return "column has another type" }
