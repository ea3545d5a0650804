package commit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Feed is one source of a run as the sinks see it that it reaches: what is to be read for them. After a crash it gives the splits that
// are journaled without listing them again, leaves out what every sink has, and goes on with the listing where it stopped. Splits is
// called once; Done from any goroutine.
type Feed struct {
	source   uint32
	managers []*Manager // the first numbers the files
	journal  *pastSource
	reread   bool
	lastFile *block.File
	counts   map[*Manager]*Resumed
}

// NewFeed makes the feed of the source that identities call source. reread says that rows are wanted by others than the sinks' own
// tokens (they pass through a barrier, or go to a consumer that keeps no log): then nothing is left out, and each sink drops what it has.
func NewFeed(source uint32, managers []*Manager, reread bool) (*Feed, error) {
	f := &Feed{source: source, managers: slices.Clone(managers), reread: reread, counts: map[*Manager]*Resumed{}}
	best, run := -1, ""
	for i, m := range managers {
		if m.past == nil {
			continue
		}
		if run != "" && run != m.cfg.Run {
			return nil, errOtherRun
		}
		run = m.cfg.Run
		f.counts[m] = &m.resumed
		if s := m.past.sources[m.own(source)]; s != nil && s.splits > 0 && (f.journal == nil || s.splits > f.journal.splits) {
			best, f.journal = i, s
		}
	}
	if best > 0 {
		f.managers[0], f.managers[best] = f.managers[best], f.managers[0]
	}
	return f, nil
}

var errOtherRun = errors.New("internal error in commit: the sinks go on with different runs")

// Splits gives what is to be read, journaled and with identities. src is not asked for what the journal holds.
func (f *Feed) Splits(ctx context.Context, src dataset.Source) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		if !f.wanted() {
			return
		}
		if f.journal != nil {
			if more, err := f.replay(ctx, yield); err != nil || !more {
				if err != nil {
					yield(dataset.Split{}, err)
				}
				return
			}
		}
		if f.journal == nil || !f.journal.listed {
			if more, err := f.list(ctx, src, yield); err != nil || !more {
				if err != nil {
					yield(dataset.Split{}, err)
				}
				return
			}
		}
		if ctx.Err() != nil { // a listing that is cancelled may simply end
			yield(dataset.Split{}, context.Cause(ctx))
			return
		}
		for _, m := range f.managers {
			if err := m.Listed(f.source); err != nil {
				yield(dataset.Split{}, err)
				return
			}
		}
	}
}

// wanted tells whether anybody needs rows of the source: sinks whose rows are all in durable parts do not.
func (f *Feed) wanted() bool {
	return len(f.managers) == 0 || slices.ContainsFunc(f.managers, func(m *Manager) bool { return !m.ended })
}

// replay gives the journaled splits. more is false when the consumer wants no more.
func (f *Feed) replay(ctx context.Context, yield func(dataset.Split, error) bool) (more bool, err error) {
	more = true
	leader, at := f.managers[0], int64(-1)
	skip := func(r *splitsRecord) bool {
		if !f.countRecord(r, at) {
			return false
		}
		at += r.splits
		return true
	}
	err = leader.past.replay(ctx, leader.store, leader.own(f.source), skip, func(v *splitView) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at++
		known := true
		for _, m := range f.managers {
			known = known && m.journaled(f.source) > at
		}
		done := f.count(v, at)
		if known && done && !f.reread {
			return nil
		}
		s := v.split()
		f.name(v, &s)
		for _, m := range f.managers[1:] {
			if m.journaled(f.source) <= at {
				if err := m.Split(ctx, f.source, &s); err != nil {
					return err
				}
			}
		}
		if !f.trim(&s) {
			return nil
		}
		for _, part := range f.divide(s) {
			if !yield(part, nil) {
				more = false
				return errEnoughSplits
			}
		}
		return nil
	})
	return more, err
}

// divide makes each range that is done in part a split of its own: only the first range of a split can be opened in its middle.
func (f *Feed) divide(s dataset.Split) []dataset.Split {
	if f.reread {
		return []dataset.Split{s}
	}
	var out []dataset.Split
	alone := true
	for _, r := range s.Ranges {
		partly := len(f.Done(r.ID)) > 0
		if partly || alone {
			out = append(out, dataset.Split{})
		}
		last := &out[len(out)-1]
		last.Ranges = append(last.Ranges, r)
		last.Bytes += s.Bytes / int64(len(s.Ranges))
		alone = partly
	}
	return out
}

// name gives the ranges of a journaled split the identities that they had.
func (f *Feed) name(v *splitView, s *dataset.Split) {
	for i := range s.Ranges {
		ordinal := v.ranges[i].ordinal - f.journal.shift
		if f.lastFile == nil || f.lastFile.Ordinal != ordinal {
			f.lastFile = &block.File{Source: f.source, Ordinal: ordinal, Path: s.Ranges[i].File.Path}
		}
		s.Ranges[i].ID = f.lastFile
	}
}

// trim leaves out the ranges that every sink has, and tells whether any is left.
func (f *Feed) trim(s *dataset.Split) bool {
	if f.reread || !slices.ContainsFunc(f.managers, func(m *Manager) bool { return m.past != nil }) {
		return true
	}
	before := len(s.Ranges)
	s.Ranges = slices.DeleteFunc(s.Ranges, func(r dataset.SplitRange) bool {
		return covers(f.Done(r.ID), r.Start, r.End)
	})
	if left := len(s.Ranges); left < before {
		s.Bytes = s.Bytes / int64(before) * int64(left)
	}
	return len(s.Ranges) > 0
}

// list goes on with the listing behind the journal, or begins it.
func (f *Feed) list(ctx context.Context, src dataset.Source, yield func(dataset.Split, error) bool) (more bool, err error) {
	var after dataset.Cursor
	var last dataset.FileRef
	if f.journal != nil {
		last = f.journal.lastFile.ref()
		after = dataset.Cursor{Path: last.Path, End: f.journal.lastEnd}
	}
	for s, err := range src.Splits(ctx, after) {
		if err != nil {
			return false, err
		}
		if len(s.Ranges) > 0 && s.Ranges[0].File.Path == last.Path && !sameRef(s.Ranges[0].File, last) {
			return false, fmt.Errorf("resume listing: %s changed since the run began (%d bytes of %s, now %d bytes of %s): restore it, or begin anew with --overwrite",
				last.Path, last.Size, stamp(last), s.Ranges[0].File.Size, stamp(s.Ranges[0].File))
		}
		if err := f.unseen(ctx, src, &s); err != nil {
			return false, err
		}
		if len(s.Ranges) == 0 {
			continue
		}
		for _, m := range f.managers {
			if err := m.Split(ctx, f.source, &s); err != nil {
				return false, err
			}
		}
		if f.trim(&s) && !yield(s, nil) {
			return false, nil
		}
	}
	return true, nil
}

func stamp(f dataset.FileRef) string {
	if f.ETag != "" {
		return f.ETag
	}
	return f.ModTime.Format("2006-01-02T15:04:05.999999999Z07:00")
}

// Done returns the positions of a file that need not be read, ascending: every sink has their rows from an earlier attempt.
func (f *Feed) Done(file *block.File) []Interval {
	if f.reread || len(f.managers) == 0 {
		return nil
	}
	out := f.managers[0].doneOf(file)
	for _, m := range f.managers[1:] {
		if len(out) == 0 {
			return nil
		}
		out = intersect(out, m.doneOf(file))
	}
	return out
}

// Unread returns the rows of a reader's block that are to go on; all is true if that is every row.
func (f *Feed) Unread(b *block.Block) (keep []uint32, all bool) { return unseenRows(b, f.Done) }

// Start returns the first position of a range that is to be read, and Stop the end of the last one: none behind it is wanted.
func (f *Feed) Start(r *dataset.SplitRange) uint64 { return firstMissing(f.Done(r.ID), r.Start, r.End) }

// Stop is described at Start.
func (f *Feed) Stop(r *dataset.SplitRange) uint64 {
	stop := r.Start
	missing(f.Done(r.ID), r.Start, r.End, func(_, end uint64) { stop = end })
	return stop
}

// Resumes tells whether anything of the source was committed before.
func (f *Feed) Resumes() bool { return len(f.counts) > 0 }
