package webdataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
)

// KeyColumn is the column of what the members of a sample share.
const KeyColumn = "__key__"

// Limits.
const (
	// DefaultMaxMember is the largest member that is read, in bytes.
	DefaultMaxMember = 256 << 20
	maxMaxMember     = 1 << 30
	maxBlockBytes    = 512 << 20 // with the largest member still within the 2 GiB that 32-bit offsets reach
	maxColumns       = 512
	sampledEntries   = 2048
	sampledBytes     = 4 << 20 // of what can only be read in order
)

// Options of reading. The zero value stands for the defaults.
type Options struct {
	MaxMember dataset.ByteSize `json:"max_member,omitempty" doc:"largest member read; samples with larger ones are row errors (256MiB)"`
	WithPath  bool             `json:"with_path,omitempty" doc:"add the column path, the file of each row"`
	file.Hive
}

// NewSource makes a source of the shards in set.
func NewSource(set *file.Set, opt Options) (*tables.Source, error) {
	if opt.MaxMember < 0 || opt.MaxMember > maxMaxMember {
		return nil, dataset.Usagef("max_member=%s: must be between 1B and 1GiB", opt.MaxMember)
	}
	if opt.MaxMember == 0 {
		opt.MaxMember = DefaultMaxMember
	}
	return tables.NewSource(set, &reading{opt: opt}, opt.WithPath), nil
}

// reading is the tables.Format of shards.
type reading struct {
	opt Options
	mu  struct {
		sync.Mutex
		known map[string]bool // extensions of the samples that the schema was made of
	}
}

var _ tables.Format = (*reading)(nil)

// Name implements tables.Format.
func (f *reading) Name() string { return "webdataset" }

// Version implements tables.Format.
func (f *reading) Version() int { return 1 }

// Options implements tables.Format.
func (f *reading) Options() any { return f.opt }

func seekable(ref dataset.FileRef) bool {
	return ref.Path != file.StdinPath && file.Compression(ref.Path) == ""
}

// withEntries opens a plain archive for its headers.
func withEntries(ctx context.Context, set *file.Set, ref dataset.FileRef, fn func(*entries) error) error {
	h, err := set.FS().Open(ctx, ref)
	if err != nil {
		return err
	}
	err = fn(newEntries(io.NewSectionReader(h, 0, ref.Size)))
	return errors.Join(err, h.Check(), h.Close())
}

// Schema implements tables.Format: the extensions of the first samples.
func (f *reading) Schema(ctx context.Context, set *file.Set, ref dataset.FileRef) (s *arrow.Schema, err error) {
	if seekable(ref) {
		err = withEntries(ctx, set, ref, func(e *entries) error {
			s, err = schemaOf(ctx, e, true)
			return err
		})
		return f.learn(s), err
	}
	head, whole, err := set.Sample(ctx, ref, sampledBytes)
	if err != nil {
		return nil, err
	}
	s, err = schemaOf(ctx, newEntries(bytes.NewReader(head)), whole)
	return f.learn(s), err
}

// learn remembers the extensions of a schema.
func (f *reading) learn(s *arrow.Schema) *arrow.Schema {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.known == nil {
		f.mu.known = map[string]bool{}
	}
	if s != nil {
		for _, c := range s.Fields() {
			f.mu.known[c.Name] = true
		}
	}
	return s
}

func (f *reading) knows(ext string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.known[ext]
}

// schemaOf looks at the first entries. Of an archive that is not whole, the last entry may be cut.
func schemaOf(ctx context.Context, e *entries, whole bool) (*arrow.Schema, error) {
	fields := []arrow.Field{{Name: KeyColumn, Type: arrow.BinaryTypes.String, Nullable: true}}
	seen := map[string]bool{}
	for range sampledEntries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		m, err := e.next()
		if err == io.EOF || err != nil && !whole && e.n > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		if m.skip || seen[m.ext] {
			continue
		}
		seen[m.ext] = true
		fields = append(fields, arrow.Field{Name: m.ext, Type: arrow.BinaryTypes.Binary, Nullable: true})
		if len(fields) > maxColumns {
			return nil, fmt.Errorf("its members have more than %d different extensions: this is no WebDataset shard, whose members are named key.extension", maxColumns)
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// Pieces implements tables.Format: a big archive is divided at the sample that reaches the target.
func (f *reading) Pieces(ctx context.Context, set *file.Set, ref dataset.FileRef, target int64) (out []tables.Piece, err error) {
	if !seekable(ref) || ref.Size <= target {
		return []tables.Piece{{End: file.Unbounded, Bytes: ref.Size}}, nil
	}
	err = withEntries(ctx, set, ref, func(e *entries) error {
		start, key, size := uint64(0), "", int64(0)
		for {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			m, err := e.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			if !m.skip && m.key != key {
				if size >= target {
					out = append(out, tables.Piece{Start: start, End: m.at, Bytes: size})
					start, size = m.at, 0
				}
				key = m.key
			}
			size += m.size
		}
		out = append(out, tables.Piece{Start: start, End: file.Unbounded, Bytes: size})
		return nil
	})
	return out, err
}

// Open implements tables.Format.
func (f *reading) Open(ctx context.Context, rt dataset.Runtime, set *file.Set, r dataset.SplitRange, from uint64, want *arrow.Schema) (tables.Rows, error) {
	rows := newRows(ctx, rt, f.opt, r, from, want)
	rows.known = f.knows
	if !seekable(r.File) {
		t, err := set.OpenText(ctx, r.File, 0)
		if err != nil {
			return nil, err
		}
		rows.e, rows.in, rows.rest = newEntries(t), t, t
		return rows, nil
	}
	h, err := set.FS().Open(ctx, r.File)
	if err != nil {
		return nil, err
	}
	rows.e, rows.in = newEntries(io.NewSectionReader(h, 0, r.File.Size)), h
	return rows, nil
}
