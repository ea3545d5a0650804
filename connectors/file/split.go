package file

import (
	"context"
	"iter"
	"math"

	"github.com/sluice-data/sluice/dataset"
)

// Unbounded is the end of a range whose length is not known before it was read: decompressed text, standard input.
const Unbounded = math.MaxInt64

// Planning defaults.
const (
	// DefaultSplitBytes is the size of a split: large enough that opening costs nothing, small enough to share among cores.
	DefaultSplitBytes = 32 << 20
	// DefaultSplitFiles bounds how many small files one split names, so that a split stays a small record.
	DefaultSplitFiles = 512
)

// Planner divides files into splits.
type Planner struct {
	TargetBytes int64 // 0: DefaultSplitBytes
	MaxFiles    int   // 0: DefaultSplitFiles
	// Range says how positions of a file run: its full range, and whether it may be cut at any byte inside it.
	Range func(f dataset.FileRef) (start, end uint64, cut bool)
}

// ByteRange is the Range of files of lines: cut by bytes, unless they are compressed.
func ByteRange(f dataset.FileRef) (start, end uint64, cut bool) {
	if Compression(f.Path) != "" || f.Path == StdinPath {
		return 0, Unbounded, false
	}
	return 0, uint64(f.Size), true
}

// WholeRange is the Range of files that are one row each.
func WholeRange(dataset.FileRef) (start, end uint64, cut bool) { return 0, 1, false }

// Splits divides the files of a set: big ones are cut into equal ranges, small ones share a split. It begins after the cursor, and
// gives the same ranges wherever it begins.
func (p Planner) Splits(ctx context.Context, s *Set, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	if p.TargetBytes <= 0 {
		p.TargetBytes = DefaultSplitBytes
	}
	if p.MaxFiles <= 0 {
		p.MaxFiles = DefaultSplitFiles
	}
	return func(yield func(dataset.Split, error) bool) {
		var held dataset.Split
		flush := func() bool {
			if len(held.Ranges) == 0 {
				return true
			}
			out := held
			held = dataset.Split{}
			return yield(out, nil)
		}
		for f, err := range p.files(ctx, s, after) {
			if err != nil {
				if flush() {
					yield(dataset.Split{}, err)
				}
				return
			}
			for _, r := range p.ranges(f, after) {
				size := rangeBytes(r)
				if held.Bytes+size > p.TargetBytes || len(held.Ranges) == p.MaxFiles {
					if !flush() {
						return
					}
				}
				held.Ranges = append(held.Ranges, r)
				held.Bytes += size
			}
		}
		flush()
	}
}

// files lists the files after the cursor, the file that the cursor lies in first.
func (p Planner) files(ctx context.Context, s *Set, after dataset.Cursor) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) {
		if after.Path != "" {
			ref, err := s.stat(ctx, after.Path)
			if !yield(ref, err) || err != nil {
				return
			}
		}
		s.Files(ctx, after.Path)(yield)
	}
}

// ranges are the ranges of one file behind the cursor.
func (p Planner) ranges(f dataset.FileRef, after dataset.Cursor) []dataset.SplitRange {
	start, end, cut := p.Range(f)
	n := uint64(1)
	if cut && f.Size > p.TargetBytes {
		n = uint64((f.Size + p.TargetBytes - 1) / p.TargetBytes)
	}
	out := make([]dataset.SplitRange, 0, n)
	for i := range n {
		r := dataset.SplitRange{File: f, Start: start + (end-start)/n*i, End: start + (end-start)/n*(i+1)}
		if i == n-1 {
			r.End = end
		}
		if f.Path != after.Path || r.Start >= after.End && r.End > after.End {
			out = append(out, r)
		}
	}
	return out
}

// rangeBytes is how much of the file a range reads.
func rangeBytes(r dataset.SplitRange) int64 {
	if n := r.End - r.Start; n <= uint64(r.File.Size) && n > 1 {
		return int64(n)
	}
	return r.File.Size
}
