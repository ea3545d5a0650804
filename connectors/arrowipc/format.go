package arrowipc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
)

// DefaultMaxBatch is the largest record batch that is read, in decoded bytes.
const DefaultMaxBatch = 512 << 20

// maxMaxBatch keeps lengths within the 2 GiB that 32-bit offsets reach.
const maxMaxBatch = 2<<30 - 1

// Options of reading. The zero value stands for the defaults.
type Options struct {
	MaxBatch dataset.ByteSize `json:"max_batch,omitempty" doc:"largest record batch read, in decoded bytes (512MiB)"`
	WithPath bool             `json:"with_path,omitempty" doc:"add the column path, the file of each row"`
	file.Hive
}

// NewSource makes a source of the files in set.
func NewSource(set *file.Set, opt Options) (*tables.Source, error) {
	if opt.MaxBatch < 0 || opt.MaxBatch > maxMaxBatch {
		return nil, dataset.Usagef("max_batch=%s: must be between 1B and 2GiB", opt.MaxBatch)
	}
	if opt.MaxBatch == 0 {
		opt.MaxBatch = DefaultMaxBatch
	}
	return tables.NewSource(set, &reading{opt: opt}, opt.WithPath), nil
}

// keptIndexes is how many files' indexes are remembered between listing and reading.
const keptIndexes = 16

// reading is the tables.Format of IPC files.
type reading struct {
	opt Options
	mu  struct {
		sync.Mutex
		kept []*index // the latest last
	}
}

var _ tables.Format = (*reading)(nil)

// Name implements tables.Format.
func (f *reading) Name() string { return "arrow" }

// Version implements tables.Format.
func (f *reading) Version() int { return 1 }

// Options implements tables.Format.
func (f *reading) Options() any { return f.opt }

// seekable tells files that are read through their index from those that are read in order.
func seekable(ref dataset.FileRef) bool {
	return ref.Path != file.StdinPath && file.Compression(ref.Path) == ""
}

// sampleBytes is how much of standard input is looked at for the schema.
const sampleBytes = 4 << 20

// Schema implements tables.Format.
func (f *reading) Schema(ctx context.Context, set *file.Set, ref dataset.FileRef) (*arrow.Schema, error) {
	if seekable(ref) {
		ix, err := f.index(ctx, set, ref)
		if err != nil {
			return nil, err
		}
		return ix.schema, nil
	}
	head, whole, err := set.Sample(ctx, ref, sampleBytes)
	if err != nil {
		return nil, err
	}
	s, err := sampleSchema(head)
	if err != nil && !whole {
		err = fmt.Errorf("%w (in its first %s)", err, dataset.ByteSize(len(head)))
	}
	return s, err
}

// index returns the index of a file, read before or now.
func (f *reading) index(ctx context.Context, set *file.Set, ref dataset.FileRef) (*index, error) {
	f.mu.Lock()
	i := slices.IndexFunc(f.mu.kept, func(ix *index) bool { return ix.ref == ref })
	if i >= 0 {
		ix := f.mu.kept[i]
		f.mu.Unlock()
		return ix, nil
	}
	f.mu.Unlock()
	h, err := set.FS().Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	ix, err := readIndex(ctx, h, ref)
	if err == nil || !errors.Is(err, context.Canceled) {
		err = errors.Join(h.Check(), err)
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.mu.kept) == keptIndexes {
		f.mu.kept = slices.Delete(f.mu.kept, 0, 1)
	}
	f.mu.kept = append(f.mu.kept, ix)
	return ix, nil
}

// Pieces implements tables.Format: record batches, put together up to the target.
func (f *reading) Pieces(ctx context.Context, set *file.Set, ref dataset.FileRef, target int64) ([]tables.Piece, error) {
	if !seekable(ref) {
		return []tables.Piece{{End: file.Unbounded, Bytes: ref.Size}}, nil
	}
	ix, err := f.index(ctx, set, ref)
	if err != nil {
		return nil, err
	}
	var out []tables.Piece
	first := uint64(0)
	for _, e := range ix.entries {
		if e.kind != isBatch || e.rows == 0 {
			continue
		}
		p := tables.Piece{Start: first, End: first + e.rows, Bytes: e.body}
		first = p.End
		if n := len(out); n > 0 && out[n-1].Bytes+p.Bytes <= target {
			out[n-1].End = p.End
			out[n-1].Bytes += p.Bytes
			continue
		}
		out = append(out, p)
	}
	return out, nil
}

// Open implements tables.Format.
func (f *reading) Open(ctx context.Context, rt dataset.Runtime, set *file.Set, r dataset.SplitRange, from uint64, want *arrow.Schema) (tables.Rows, error) {
	d := &decoder{mem: rt.Allocator(), limit: int64(f.opt.MaxBatch), dicts: map[int64]*dictionary{}}
	rows := &rows{ctx: ctx, rt: rt, dec: d, from: from, to: r.End, out: slicer{rows: rt.BlockRows(), bytes: rt.BlockBytes()}}
	if !seekable(r.File) {
		t, err := set.OpenText(ctx, r.File, 0)
		if err != nil {
			return nil, err
		}
		s := &stream{r: t, text: t, limit: int64(f.opt.MaxBatch), mem: rt.Allocator()}
		if err := s.open(); err != nil {
			return nil, errors.Join(err, t.Close())
		}
		rows.in = s
		d.shape(s.schema, s.fields, want)
		return rows, nil
	}
	ix, err := f.index(ctx, set, r.File)
	if err != nil {
		return nil, err
	}
	h, err := set.FS().Open(ctx, r.File)
	if err != nil {
		return nil, err
	}
	rows.in = &seeker{h: h, ix: ix, mem: rt.Allocator()}
	d.shape(ix.schema, ix.fields, want)
	return rows, nil
}
