package relational

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

const (
	// mostRuns is how many spilled runs an instance keeps before it merges them to one; with blocks that are small it keeps fewer.
	mostRuns   = 16
	fewestRuns = 4

	minFrame = 16 << 10
	maxFrame = 1 << 20
)

// sorter is an instance of sort: it gathers rows while they can be reserved for, and spills sorted runs when not.
type sorter struct {
	layout *layout
	rt     dataset.Runtime
	arena  *arena
	now    *memoryRun // the run under way
	widest int64      // the largest row of it
	state  int64      // bytes of keys and entries of it
	runs   []run      // spilled
	levels []int      // how many merges made each of them
	seen   uint64     // rows without identity
}

var _ dataset.BarrierOperator = (*sorter)(nil)

// Open implements dataset.Operator.
func (s *sorter) Open(_ context.Context, rt dataset.Runtime) error {
	s.rt, s.arena, s.now = rt, newArena(), &memoryRun{}
	return nil
}

// frameBytes is how large a piece of a spilled run is: many are held at once when runs are merged.
func frameBytes(rt dataset.Runtime) int64 {
	return min(max(rt.BlockBytes()/32, minFrame), maxFrame)
}

// fanIn is how many runs are merged at once: the frames that this holds stay a small part of the budget, of which a block is a
// sixteenth or less.
func fanIn(rt dataset.Runtime) int {
	return int(min(max(8*rt.BlockBytes()/(framesHeld*frameBytes(rt)), fewestRuns), mostRuns))
}

// finalRuns is how many runs an instance may leave for the last merge, to which all instances contribute.
func finalRuns(rt dataset.Runtime) int {
	return max(2, fanIn(rt)/max(1, rt.Parallel()/4))
}

// workspace is what spilling the present run takes beyond the run: a frame, its encoding and its compression.
func (s *sorter) workspace() int64 { return 4 * max(frameBytes(s.rt), s.widest) }

// Process implements dataset.Operator.
func (s *sorter) Process(ctx context.Context, _ int, b *block.Block, _ dataset.Emit) error {
	if b.NumRows() == 0 {
		return nil
	}
	widest := newRowSizes(b.Record()).max(b.NumRows())
	need := s.predict(b)
	s.widest = max(s.widest, widest)
	if !s.arena.try(s.rt, s.held()+s.workspace()+need) {
		if err := s.spill(ctx); err != nil {
			return err
		}
		s.widest = widest
		if err := s.arena.wait(ctx, s.rt, s.workspace()+need); err != nil {
			return err
		}
	}
	if err := s.add(b); err != nil {
		return err
	}
	if !s.arena.try(s.rt, s.held()+s.workspace()) { // the prediction was short and there is no more
		return s.spill(ctx)
	}
	return nil
}

// held is what the present run takes.
func (s *sorter) held() int64 { return s.arena.used.Load() + s.state }

// predict says what adding a block will take: the rows, their identities, keys and entries.
func (s *sorter) predict(b *block.Block) int64 {
	const perRow = entryBytes + 16 + 40 // entries grow by half at times; ends of keys; a usual key
	perCol := int64(64 * 3 * b.NumCols())
	return b.Bytes() + b.Bytes()/4 + perCol + int64(b.NumRows())*perRow
}

// add copies a block into the present run.
func (s *sorter) add(b *block.Block) error {
	rec := b.Record()
	tie := ties(s.arena.mem, b, s.seen)
	defer tie.Release()
	s.seen += uint64(b.NumRows())
	cols := append(slices.Clone(rec.Columns()), tie)
	full := block.FromColumns(s.layout.rows, cols, b.NumRows())
	defer full.Release()
	own, err := block.MergeRecords(s.arena.mem, []arrow.RecordBatch{full})
	if err != nil {
		return err
	}
	s.now.add(s.layout, own)
	s.state = 0
	for _, k := range s.now.keys {
		s.state += k.Bytes()
	}
	s.state += entryBytes * int64(cap(s.now.entries))
	return nil
}

// spill writes the present run to a file and gives its memory back.
func (s *sorter) spill(ctx context.Context) error {
	if len(s.now.entries) == 0 {
		s.arena.release()
		return nil
	}
	s.now.sort()
	r, err := s.write(ctx, []cursor{s.now.cursor(s.arena.mem, nil, nil)})
	if err != nil {
		return err
	}
	s.runs, s.levels = append(s.runs, r), append(s.levels, 0)
	err = s.now.close()
	s.state, s.widest = 0, 0
	s.arena.release()
	return errors.Join(err, s.compact(ctx, fanIn(s.rt)))
}

// write merges cursors into a new file; it closes them.
func (s *sorter) write(ctx context.Context, cursors []cursor) (*fileRun, error) {
	m, err := newMerger(cursors)
	defer m.close()
	if err != nil {
		return nil, err
	}
	w, err := newFileWriter(s.layout, s.rt, s.arena.mem)
	if err != nil {
		return nil, err
	}
	if err := m.drain(ctx, s.arena.mem, s.rt.BlockRows(), frameBytes(s.rt), w.put); err != nil {
		return nil, errors.Join(err, w.run.close())
	}
	return w.run, nil
}

// compact merges runs of one level when there are most of them, so that there are never many and each row is written a
// logarithmic number of times.
func (s *sorter) compact(ctx context.Context, most int) error {
	for {
		n := 0 // the newest runs are those of the lowest level
		for n < len(s.runs) && s.levels[len(s.levels)-1-n] == s.levels[len(s.levels)-1] {
			n++
		}
		if n < most {
			return nil
		}
		if err := s.mergeLast(ctx, n, s.levels[len(s.levels)-1]+1); err != nil {
			return err
		}
	}
}

// mergeLast merges the last n runs to one.
func (s *sorter) mergeLast(ctx context.Context, n, level int) error {
	old := s.runs[len(s.runs)-n:]
	need := int64(0)
	for _, r := range old {
		need += r.readBytes()
	}
	if err := s.arena.wait(ctx, s.rt, need+4*frameBytes(s.rt)); err != nil {
		return err
	}
	defer s.arena.release()
	cursors := make([]cursor, n)
	for i, r := range old {
		cursors[i] = r.cursor(s.arena.mem, nil, nil)
	}
	merged, err := s.write(ctx, cursors)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range old {
		errs = append(errs, r.close())
	}
	s.runs = append(s.runs[:len(s.runs)-n], merged)
	s.levels = append(s.levels[:len(s.levels)-n], level)
	return errors.Join(errs...)
}

// Flush implements dataset.Operator. Rows that are in memory stay there if that leaves room for the merge, else they are spilled too.
func (s *sorter) Flush(ctx context.Context, _ dataset.Emit) error {
	stay := len(s.runs) == 0
	if stay {
		release, ok := s.rt.TryReserve(4 * s.rt.BlockBytes())
		if stay = ok; ok {
			release()
		}
	}
	if !stay {
		if err := s.spill(ctx); err != nil {
			return err
		}
		for most := finalRuns(s.rt); len(s.runs) > most; { // the newest are the smallest
			n := min(len(s.runs)-most+1, fanIn(s.rt))
			if err := s.mergeLast(ctx, n, s.levels[len(s.levels)-n]); err != nil {
				return err
			}
		}
		return nil
	}
	s.now.sort()
	return nil
}

// State implements dataset.BarrierOperator.
func (s *sorter) State() any {
	runs := slices.Clone(s.runs)
	if len(s.now.entries) > 0 {
		runs = append(runs, s.now)
	}
	return runs
}

// Close implements dataset.Operator.
func (s *sorter) Close() error {
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, r.close())
	}
	s.runs = nil
	if s.now != nil {
		errs = append(errs, s.now.close())
	}
	if s.arena != nil {
		s.arena.release()
	}
	return errors.Join(errs...)
}
