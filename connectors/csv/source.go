package csv

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/dataset"
)

// Source reads files of CSV. It is immutable and safe for concurrent use.
type Source struct {
	set        *file.Set
	opt        Options
	columns    []string // nil: all
	limit      int64    // rows wanted of a split; 0: all
	splitBytes int64    // 0: the default
	pin        *file.Pin[*pinned]
	files      *fileInfos
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
	return &Source{set: set, opt: opt.withDefaults(), pin: &file.Pin[*pinned]{}, files: newFileInfos()}, nil
}

// Name implements dataset.Source.
func (s *Source) Name() string { return "csv" }

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

// Splits implements dataset.Source. Big local files are cut at any byte; readers find the records.
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

// cuts reports whether a file may be cut: it is here, where reading it twice costs little, and its bytes are its text. A file that cannot
// be looked at is cut; its reader says what is wrong.
func (s *Source) cuts(ctx context.Context, f dataset.FileRef) bool {
	if _, local := s.set.FS().(file.Local); !local || file.Compression(f.Path) != "" || f.Path == file.StdinPath {
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
	p, err := s.pinned(ctx)
	if err != nil {
		return nil, err
	}
	return newReader(ctx, s, p, rt, split, offset)
}

// SplitBytes returns the source with splits of about n bytes (0: the default).
func (s *Source) SplitBytes(n int64) *Source {
	out := *s
	out.splitBytes = n
	return &out
}

// Pinned returns the source with the schema that from was pinned to, instead of looking at its own files: how a nightly job keeps the
// schema of its first run.
func (s *Source) Pinned(from *Source) *Source {
	out := *s
	out.pin = from.pin
	return &out
}

// fileInfos remembers what readers of parts of the same file share. It holds the few files that are being read.
type fileInfos struct {
	mu struct {
		sync.Mutex
		infos []*fileInfo // the latest last
	}
}

// maxInfos is how many files fileInfos remembers: more than are read at the same time.
const maxInfos = 64

// fileInfo is what readers behind the start of a file must know of the start.
type fileInfo struct {
	ref dataset.FileRef
	sync.Mutex
	done   bool
	header header
	behind uint64 // position behind the header
	cuts   *cuts
	misled bool              // a guess of where a record starts was wrong: there are no more
	starts map[uint64]uint64 // by the start of a range, the position of its first record, as the reader of the range before found it
}

// found remembers that the first record at or behind the end of a range is at pos.
func (x *fileInfo) found(end, pos uint64) {
	x.Lock()
	defer x.Unlock()
	if x.starts == nil {
		x.starts = map[uint64]uint64{}
	}
	x.starts[end] = pos
}

// first is the position of the first record of the range that begins at start, if it is known.
func (x *fileInfo) first(start uint64) (pos uint64, ok bool) {
	x.Lock()
	defer x.Unlock()
	pos, ok = x.starts[start]
	return pos, ok
}

// mislead remembers that guessing does not do for this file.
func (x *fileInfo) mislead() {
	x.Lock()
	defer x.Unlock()
	x.misled = true
}

// guessing reports whether the start of a range may be guessed.
func (x *fileInfo) guessing() bool {
	x.Lock()
	defer x.Unlock()
	return !x.misled
}

func newFileInfos() *fileInfos { return &fileInfos{} }

// of returns the info of a file, which may be empty.
func (f *fileInfos) of(ref dataset.FileRef) *fileInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.mu.infos {
		if x.ref.Path == ref.Path && x.ref.Size == ref.Size && x.ref.ModTime.Equal(ref.ModTime) && x.ref.ETag == ref.ETag {
			return x
		}
	}
	x := &fileInfo{ref: ref}
	if len(f.mu.infos) == maxInfos {
		f.mu.infos = slices.Delete(f.mu.infos, 0, 1)
	}
	f.mu.infos = append(f.mu.infos, x)
	return x
}

// info looks at the start of a file that is cut, once.
func (s *Source) info(ctx context.Context, ref dataset.FileRef) (*fileInfo, error) {
	x := s.files.of(ref)
	x.Lock()
	defer x.Unlock()
	if x.done {
		return x, nil
	}
	d, err := s.opt.dialect()
	if err != nil {
		return nil, err
	}
	head, _, err := s.set.Sample(ctx, ref, len(charset.Mark))
	if err != nil {
		return nil, err
	}
	x.cuts = newCuts(d, ref.Size, string(head) == charset.Mark)
	if *s.opt.Header {
		if x.header, x.behind, err = s.headerOf(ctx, ref); err != nil {
			return nil, err
		}
		x.behind += uint64(x.cuts.start)
	}
	x.done = true
	return x, nil
}

// errNoHeader reports a file without a first record, or one that is longer than allowed: its first range says so, others have no rows.
var errNoHeader = errors.New("no header")

// headerOf reads the header of a file; behind is the position after it, without a byte order mark.
func (s *Source) headerOf(ctx context.Context, ref dataset.FileRef) (h header, behind uint64, err error) {
	p, err := newParser(s.opt)
	if err != nil {
		return h, 0, err
	}
	for size := chunkBytes; ; size = min(8*size, int(s.opt.MaxRecord)) {
		head, whole, err := sampleText(ctx, s.set, ref, size, s.opt.Encoding)
		if err != nil {
			return h, 0, err
		}
		i := loadText(p, head, whole)
		if i >= 0 {
			fields, next := p.recordText(i, s.opt.MaxColumns)
			if next >= 0 {
				return uniqueNames(fields), uint64(next), nil
			}
			if next == failed {
				return h, 0, errNoHeader
			}
		}
		if whole || size >= int(s.opt.MaxRecord) {
			return h, 0, errNoHeader
		}
	}
}
