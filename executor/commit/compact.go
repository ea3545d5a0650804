package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/sluice-data/sluice/dataset"
)

// Each attempt at a run adds segments to its log, and most hold nothing but generations. When an attempt begins and many have gathered, it
// writes what they say together as one snapshot record; the segments that only repeat it are then given up: a list of their numbers
// is made durable beside the log, behind the snapshot, and they are removed. Segments with splits stay: there is no other copy of them.
//
// A crash in between leaves a snapshot and the segments it repeats, which changes nothing, or a list and segments that are not read.

// compactAfter is how many segments there must be to give up before an attempt does so.
var compactAfter = 8

// logCompacted is the object that lists the segments that were given up.
type logCompacted struct {
	Format  int   `json:"format"`
	Dropped []int `json:"dropped"` // ascending
}

func compactedName(run string) string { return run + "/compacted" }

// droppedSegments returns the numbers of the segments of a run's log that a snapshot in a later one stands for.
func droppedSegments(ctx context.Context, store dataset.Storage, run string) ([]int, error) {
	raw, err := store.Read(ctx, compactedName(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read log of run %s: %w", run, err)
	}
	var c logCompacted
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("read %s: %w", compactedName(run), err)
	}
	if c.Format != logFormat {
		return nil, fmt.Errorf("read %s: it has format %d, this version of Sluice reads %d", compactedName(run), c.Format, logFormat)
	}
	return c.Dropped, nil
}

// repeats tells whether records of a kind are contained in a snapshot.
func (k kind) repeats() bool {
	return k == kindHeader || k == kindAttempt || k == kindGeneration || k == kindSnapshot
}

// superfluous returns the numbers of the segments up to last that a snapshot would stand for, those that were given up before left out.
func (p *past) superfluous() (out []int) {
	for n := 1; n <= p.last; n++ {
		if !p.needed[n] && !slices.Contains(p.dropped, n) {
			out = append(out, n)
		}
	}
	return out
}

// snapshot is all generations of the past as one record.
func (p *past) snapshot() *generationRecord {
	g := &generationRecord{Count: p.generations, Parts: p.parts, Deferred: p.ended, Read: p.fails.Read, Failed: p.fails.Failed, Dead: p.fails.Dead}
	for id, s := range p.sources {
		for _, d := range s.done.list {
			g.done.list = append(g.done.list, span{source: id, ordinal: d.ordinal, files: d.files, first: d.first, end: d.end})
		}
	}
	return g
}

// noteSnapshot takes a snapshot in place of the generations that were noted before it.
func (p *past) noteSnapshot(g *generationRecord) {
	p.generations, p.parts, p.ended, p.fails = g.Count, nil, false, deadSummary{}
	p.noteGeneration(g)
	p.generations = g.Count
}

// compact writes a snapshot of the past into the new segment, and gives up the segments that it repeats, if there are many.
func (m *Manager) compact(ctx context.Context, u *past) error {
	give := u.superfluous()
	if len(give) < compactAfter {
		return nil
	}
	payload, err := u.snapshot().encode()
	if err != nil || len(payload) >= maxRecordBytes/2 {
		return err // a log of that many parts is better left as it is
	}
	if err := m.log.append(kindSnapshot, payload); err != nil {
		return err
	}
	if err := m.log.sync(ctx); err != nil {
		return err
	}
	crashpoint("log snapshot written")
	dropped := slices.Concat(u.dropped, give)
	slices.Sort(dropped)
	raw, err := json.Marshal(logCompacted{logFormat, dropped})
	if err != nil {
		return err
	}
	if err := m.store.Replace(ctx, compactedName(u.run), raw); err != nil {
		return fmt.Errorf("compact log of run %s: %w", u.run, err)
	}
	crashpoint("log segments given up")
	for _, n := range dropped { // those before were perhaps not all removed
		if err := m.store.Remove(ctx, segmentName(u.run, n)); err != nil {
			return fmt.Errorf("compact log of run %s: %w", u.run, err)
		}
	}
	crashpoint("log compacted")
	return nil
}
