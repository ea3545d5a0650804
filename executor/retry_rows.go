package executor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

// retry is what a run is restricted to that tries failed rows again.
type retry struct {
	plan     *dataset.Plan
	left     *commit.Leftover
	origins  []uint32 // numbers of the sources, in the order of the plan
	files    map[fileKey]*retryFile
	byID     map[fileKey]*retryFile // by the source that identities name
	children bool                   // some failed row is a child: its siblings must not come again
}

// fileKey names a file as the log of the run does: sources by their place in its plan.
type fileKey struct {
	source  uint32
	ordinal uint64
}

// retryFile is the failed rows of one file.
type retryFile struct {
	id     *block.File
	rows   []retryRow // ascending
	ranges []dataset.SplitRange
	// unpinned: nothing tells whether the file is still what the run read.
	unpinned bool
}

// retryRow is a failed row, or the children of a row that failed. Without children everything made of the row is wanted.
type retryRow struct {
	pos      uint64
	children [][]uint32
}

// want adds a dead letter.
func (r *retry) want(l *commit.DeadLetter) error {
	id := l.Identity
	if id == nil || id.Source >= barrierSource {
		return dataset.Usagef("a failed row of %s was made of rows that cannot be told any more (it failed behind a step that works on all rows together); "+
			"run the command again with --overwrite", l.Operator)
	}
	key := fileKey{id.Source, id.Ordinal}
	if r.files == nil {
		r.files, r.byID = map[fileKey]*retryFile{}, map[fileKey]*retryFile{}
	}
	f := r.files[key]
	if f == nil {
		if int(id.Source) >= len(r.origins) {
			return fmt.Errorf("a failed row of %s names source %d, and the run read %d", l.Path, id.Source, len(r.origins))
		}
		f = &retryFile{id: &block.File{Source: r.origins[id.Source], Ordinal: id.Ordinal, Path: l.Path}}
		r.files[key] = f
		r.byID[fileKey{f.id.Source, f.id.Ordinal}] = f
	}
	row := retryRow{pos: id.Position}
	if len(id.Child) > 0 {
		row.children = [][]uint32{id.Child}
		r.children = true
	}
	f.rows = append(f.rows, row)
	return nil
}

// locate takes a range that the run journaled, if a failed row lies in it.
func (r *retry) locate(source uint32, ordinal uint64, at dataset.SplitRange) error {
	f := r.files[fileKey{source, ordinal}]
	if f == nil {
		return nil
	}
	f.unpinned = f.unpinned || at.File.ETag == "" && at.File.ModTime.IsZero()
	for _, row := range f.rows {
		if at.Start <= row.pos && row.pos < at.End {
			at.ID = f.id
			f.ranges = append(f.ranges, at)
			break
		}
	}
	return nil
}

// complete puts the rows in order and checks that all of them are found.
func (r *retry) complete() error {
	for _, f := range r.files {
		if f.unpinned {
			return dataset.Usagef("%s cannot be read again: nothing tells whether it is still what the run read; run the command again with --overwrite", f.id.Path)
		}
		slices.SortStableFunc(f.rows, func(a, b retryRow) int { return cmp.Compare(a.pos, b.pos) })
		merged := f.rows[:0]
		for _, row := range f.rows {
			n := len(merged)
			switch {
			case n == 0 || merged[n-1].pos != row.pos:
				merged = append(merged, row)
			case merged[n-1].children == nil || row.children == nil:
				merged[n-1].children = nil
			default:
				merged[n-1].children = append(merged[n-1].children, row.children...)
			}
		}
		f.rows = merged
		slices.SortFunc(f.ranges, func(a, b dataset.SplitRange) int { return cmp.Compare(a.Start, b.Start) })
		f.ranges = slices.CompactFunc(f.ranges, func(a, b dataset.SplitRange) bool { return a.Start == b.Start && a.End == b.End })
		for _, row := range f.rows {
			if !slices.ContainsFunc(f.ranges, func(s dataset.SplitRange) bool { return s.Start <= row.pos && row.pos < s.End }) {
				return fmt.Errorf("the log of run %s does not say in which range position %d of %s was read", r.left.Held.Run, row.pos, f.id.Path)
			}
		}
	}
	return nil
}

// filesOf returns the files of a source in the order of their ordinals.
func (r *retry) filesOf(source uint32) []*retryFile {
	var out []*retryFile
	for k, f := range r.files {
		if k.source == source {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *retryFile) int { return cmp.Compare(a.id.Ordinal, b.id.Ordinal) })
	return out
}

// find returns the failed row at a position, or nil.
func (f *retryFile) find(pos uint64) *retryRow {
	i, ok := slices.BinarySearchFunc(f.rows, pos, func(r retryRow, pos uint64) int { return cmp.Compare(r.pos, pos) })
	if !ok {
		return nil
	}
	return &f.rows[i]
}

// within returns the first and the last failed row of a range.
func (f *retryFile) within(start, end uint64) (first, last uint64) {
	i, _ := slices.BinarySearchFunc(f.rows, start, func(r retryRow, pos uint64) int { return cmp.Compare(r.pos, pos) })
	j, _ := slices.BinarySearchFunc(f.rows, end, func(r retryRow, pos uint64) int { return cmp.Compare(r.pos, pos) })
	return f.rows[i].pos, f.rows[j-1].pos
}

func (r *retry) row(id block.RowID) *retryRow {
	if id.File == nil {
		return nil
	}
	f := r.byID[fileKey{id.File.Source, id.File.Ordinal}]
	if f == nil {
		return nil
	}
	return f.find(id.Position)
}

// failed returns the identities under which a failed row of the retry is set aside: its own if it descends from a row that failed before;
// if such rows descend from it, theirs, so that another retry does not bring their siblings.
func (r *retry) failed(id block.RowID) []block.RowID {
	row := r.row(id)
	if row == nil {
		return nil
	}
	if row.children == nil {
		return []block.RowID{id}
	}
	var out []block.RowID
	for _, c := range row.children {
		switch {
		case isPrefix(c, id.Child):
			return []block.RowID{id}
		case isPrefix(id.Child, c):
			out = append(out, block.RowID{File: id.File, Position: id.Position, Child: c})
		}
	}
	return out
}

func isPrefix(a, b []uint32) bool { return len(a) <= len(b) && slices.Equal(a, b[:len(a)]) }

// keep returns the rows of a block that descend from failed rows; all is set if every one does.
func (r *retry) keep(b *block.Block) (rows []uint32, all bool) {
	for i := range b.NumRows() {
		id := b.Identity().At(i)
		row := r.row(id)
		if row == nil {
			continue
		}
		if row.children == nil || slices.ContainsFunc(row.children, func(c []uint32) bool { return isPrefix(c, id.Child) }) {
			rows = append(rows, uint32(i))
		}
	}
	return rows, len(rows) == b.NumRows()
}

// write passes on those rows of a block, which it borrows, that descend from failed rows.
func (r *retry) write(b *block.Block, rt dataset.Runtime, write func(*block.Block) error) error {
	rows, all := r.keep(b)
	switch {
	case all:
		return write(b)
	case len(rows) == 0:
		return nil
	}
	kept, err := block.Take(rt.Allocator(), b, rows)
	if err != nil {
		return err
	}
	defer kept.Release()
	return write(kept)
}

// restrict returns the plan with sources that give the failed rows only.
func (r *retry) restrict(root *dataset.Node) (*dataset.Node, error) {
	made := map[*dataset.Node]*dataset.Node{}
	sources := 0
	dataset.Walk(func(n *dataset.Node) {
		c := *n
		c.Inputs = slices.Clone(n.Inputs)
		for i, in := range c.Inputs {
			c.Inputs[i] = made[in]
		}
		if n.Source != nil {
			if sources < len(r.origins) {
				c.Source = &retrySource{Source: n.Source, retry: r, files: r.filesOf(uint32(sources))}
			}
			sources++
		}
		made[n] = &c
	}, root)
	if sources != len(r.origins) {
		return nil, errors.New("internal error in retry: the plan has another number of sources than the run")
	}
	return made[root], nil
}

// number gives the stages of the sources the numbers that they had in the run, which identities name.
func (r *retry) number(stages []*stage) {
	for _, s := range stages {
		if s.Source != nil && int(s.Origin) < len(r.origins) {
			s.Origin = r.origins[s.Origin]
		}
	}
}
