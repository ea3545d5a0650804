package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
	"github.com/sluice-data/sluice/executor/sched"
)

// lister lists the splits of a source, as many ahead as the scheduler asks for.
type lister struct {
	ctx    context.Context // of the listing
	cancel context.CancelFunc
	read   context.Context // of the readers: ends with ErrStop when nothing more is wanted
	stop   context.CancelCauseFunc
	mu     sync.Mutex
	allow  int
	more   chan struct{}

	release func() error // of what the source holds for the run; nil if nothing

	last  *block.File // of the split listed last; splits of one file follow each other
	files uint64
}

func newLister(ctx context.Context) *lister {
	l := &lister{more: make(chan struct{}, 1)}
	l.read, l.stop = context.WithCancelCause(ctx)
	l.ctx, l.cancel = context.WithCancel(l.read)
	return l
}

// startListing starts the source's listing goroutine, which the run waits for.
func (s *stage) startListing() {
	ctx := s.list.ctx
	s.run.wg.Go(func() {
		defer s.list.cancel()
		if err := s.listSplits(ctx); err != nil && ctx.Err() == nil {
			s.run.fail(err)
		}
		s.listedAll.Store(true)
		s.run.send(sched.Event{Kind: sched.EvListed, Stage: s.id})
	})
}

func (s *stage) listMore(n int) {
	if s.list == nil {
		return
	}
	s.list.mu.Lock()
	s.list.allow += n
	s.list.mu.Unlock()
	select {
	case s.list.more <- struct{}{}:
	default:
	}
}

// wait returns when one more split may be listed.
func (l *lister) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.allow > 0 {
			l.allow--
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		select {
		case <-l.more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// releaseSources gives back what sources held, after the last reader was closed.
func (r *run) releaseSources() (err error) {
	for _, s := range r.stages {
		if s.list != nil && s.list.release != nil {
			err = errors.Join(err, s.list.release())
		}
	}
	return err
}

// listSplits sends one EvSplit a split. Panics of a connector are its errors.
func (s *stage) listSplits(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &dataset.PanicError{Op: s.Name, Where: "listing", Value: v}
		}
	}()
	if h, ok := s.Source.(dataset.Holder); ok {
		if s.list.release, err = h.Hold(s.list.read); err != nil {
			return err
		}
	}
	for split, err := range s.splits(ctx) {
		if err != nil {
			return err
		}
		if err := s.list.wait(ctx); err != nil {
			return err
		}
		s.count.listed.Add(max(split.Bytes, 0))
		s.run.send(sched.Event{Kind: sched.EvSplit, Stage: s.id, Item: sched.Item{Bytes: split.Bytes, Block: &split}})
	}
	return nil
}

// readState follows one split as it is read.
type readState struct {
	worker *worker
	split  *dataset.Split
	rt     *opRuntime
	cur    int    // range that is read
	pos    uint64 // first position of it that no token covers yet
	stop   uint64 // in the last range: nothing is wanted from here on

	pending []pendingReject // rows that could not be read, not covered yet
	counted spot            // they are counted up to here
	share   share           // of the split that was read
}

func (s *readState) where() string {
	if s.cur < len(s.split.Ranges) {
		return fmt.Sprintf("%s, row %d", s.split.Ranges[s.cur].File.Path, s.pos)
	}
	return "the end of a split"
}

// readSplit reads one split to its end and hands its blocks over. A transient error reopens it where it was.
func (w *worker) readSplit(split *dataset.Split) error {
	s := &readState{worker: w, split: split, rt: &opRuntime{worker: w}}
	if n := len(split.Ranges); n > 0 {
		s.pos, s.stop = split.Ranges[0].Start, split.Ranges[n-1].End
		if w.stage.resumes() {
			s.pos, s.stop = w.stage.feed.Start(&split.Ranges[0]), w.stage.feed.Stop(&split.Ranges[n-1])
		}
	}
	s.share = newShare(w.stage, split)
	w.read = s
	defer func() { w.read = nil }()
	for attempt := 1; ; attempt++ {
		before := *s
		s.pending = nil // they are met again
		err := s.readFrom(w.stage.list.read)
		if err == nil {
			s.share.end()
			return s.finish()
		}
		if w.stage.stopped.Load() && w.run.ctx.Err() == nil {
			return nil // what ended the reader is that nothing more is wanted
		}
		te, ok := errors.AsType[*dataset.TransientError](err)
		if !ok {
			return err
		}
		if s.cur != before.cur || s.pos != before.pos {
			attempt = 1
		}
		if attempt >= maxAttempts {
			return fmt.Errorf("%w (after %d attempts)", err, maxAttempts)
		}
		if e := w.sleep(max(te.After, firstWait<<attempt)); e != nil {
			return e
		}
	}
}

// readFrom opens what is left of the split and reads it.
func (s *readState) readFrom(ctx context.Context) error {
	rest := *s.split
	rest.Ranges = s.split.Ranges[s.cur:]
	offset := uint64(0)
	if len(rest.Ranges) > 0 && s.pos > rest.Ranges[0].Start {
		offset = s.pos
	}
	reading := &dataset.Reading{Ranges: rest.Ranges, Memory: s.worker.run.cfg.MemoryBytes, Charge: s.worker.stage.memory.charge}
	ctx = dataset.WithReading(ctx, reading)
	rd, err := s.worker.stage.Source.Open(ctx, s.rt, rest, offset)
	if err != nil {
		reading.Close()
		return err
	}
	defer reading.Close()
	defer rd.Close()
	for {
		if s.worker.stage.stopped.Load() || s.cur == len(s.split.Ranges)-1 && s.pos >= s.stop {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := s.next(ctx, rd)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.give(b); err != nil {
			return err
		}
	}
}

// resumes tells whether targets have rows of the source from earlier attempts.
func (s *stage) resumes() bool { return s.feed != nil && s.feed.Resumes() }

// give binds a reader's block to a token and hands it over, without the rows that every target has.
func (s *readState) give(b *block.Block) error {
	if b.NumRows() == 0 {
		b.Release()
		return nil
	}
	w := s.worker
	tok := w.run.newToken(w.stage, s.cover(b.Identity()))
	taken := false
	defer func() {
		if !taken { // what it covers is not done
			tok.Ranges = nil
		}
		tok.Settle()
	}()
	if err := s.bindRejects(tok, false); err != nil {
		b.Release()
		return err
	}
	named := b.WithIdentity(b.Identity().WithToken(tok))
	b.Release()
	s.share.reached(s.split, s.cur, s.pos)
	if w.stage.resumes() {
		if keep, all := w.stage.feed.Unread(named); !all {
			part, err := block.Take(w.mem, named, keep)
			named.Release()
			if err != nil {
				return fmt.Errorf("leave out rows that were committed before: %w", err)
			}
			named = part
		}
	}
	commit.CountRead(tok, named.NumRows())
	w.run.noteRead(named)
	err := w.emit(named)
	taken = err == nil
	return err
}

// cover returns the ranges between what was covered so far and the last row of id, and moves on.
func (s *readState) cover(id block.Identity) []block.Range {
	var out []block.Range
	id.Runs(func(r *block.Run) {
		for s.cur < len(s.split.Ranges) && s.split.Ranges[s.cur].ID != r.File {
			out = s.close(out)
		}
		end := lastPosition(r) + 1
		if n := len(out); n > 0 && out[n-1].File == r.File && out[n-1].End == s.pos {
			out[n-1].End = end
		} else {
			out = append(out, block.Range{File: r.File, First: s.pos, End: end})
		}
		s.pos = end
	})
	return out
}

// close appends the rest of the current range and goes to the next.
func (s *readState) close(out []block.Range) []block.Range {
	r := &s.split.Ranges[s.cur]
	if s.pos < r.End {
		out = append(out, block.Range{File: r.ID, First: s.pos, End: r.End})
	}
	s.cur++
	if s.cur < len(s.split.Ranges) {
		s.pos = s.split.Ranges[s.cur].Start
	}
	return out
}

func lastPosition(r *block.Run) uint64 {
	if r.N == 0 {
		return r.First
	}
	if r.Offsets != nil {
		return r.First + uint64(r.Offsets[r.N-1])
	}
	return r.First + uint64(r.N-1)*uint64(r.Stride)
}

// finish covers what is left of the split, which held no more rows: an empty token, drained at once.
func (s *readState) finish() error {
	if s.worker.stage.stopped.Load() || s.worker.run.ctx.Err() != nil {
		return nil
	}
	var rest []block.Range
	for s.cur < len(s.split.Ranges) {
		rest = s.close(rest)
	}
	if len(rest) == 0 && len(s.pending) == 0 {
		return nil
	}
	tok := s.worker.run.newToken(s.worker.stage, rest)
	err := s.bindRejects(tok, true)
	if err != nil {
		tok.Ranges = nil
	}
	tok.Settle()
	return err
}
