package executor

import (
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/sched"
)

// retry calls Process again after a transient error. The rows that the failed attempt emitted are downstream already: the next
// attempt's first rows are checked to be the same and dropped.
func (w *worker) retry(c *chainOp, port int, b *block.Block, err error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = firstWait, maxWait, 2
	for attempt := 2; ; attempt++ {
		te, ok := errors.AsType[*dataset.TransientError](err)
		if !ok {
			return err
		}
		if attempt > maxAttempts {
			return fmt.Errorf("%w (after %d attempts)", err, maxAttempts)
		}
		if e := w.sleep(max(te.After, wait.NextBackOff())); e != nil {
			return e
		}
		c.sent.again()
		if err = c.op.Process(w.run.ctx, port, b, c.emit); err == nil {
			err = c.sent.check(c.name)
		}
		if err == nil {
			return nil
		}
	}
}

// sleep parks the task for a while; its slot is free.
func (w *worker) sleep(d time.Duration) error {
	if err := w.handOver(); err != nil {
		return err
	}
	w.run.send(sched.Event{Kind: sched.EvRetry, Task: w.task.id, Stage: w.stage.id, Bytes: int64(d)})
	return w.wait()
}

// sentRows remembers what one call of Process emitted, so that a retry can leave it out.
type sentRows struct {
	rows, hash uint64         // emitted in this call, all attempts
	skip, seen uint64         // rows still to be left out; hash of those left out so far
	holding    bool           // nondeterministic
	held       []*block.Block // what it emitted in this attempt

	failed, failedBefore int      // rows that failed in this call, all attempts; those of them still to be left out
	repeats              int      // attempts before this one
	rejected             []reject // nondeterministic: rows that failed in this attempt
}

func (s *sentRows) begin(holds bool) { *s = sentRows{holding: holds, held: s.held[:0]} }

// again begins another attempt.
func (s *sentRows) again() {
	for _, b := range s.held {
		b.Release()
	}
	s.held = s.held[:0]
	s.skip, s.seen = s.rows, 0
	s.failedBefore, s.rejected = s.failed, nil
	s.repeats++
}

// mix adds a block to a hash over row counts and first positions.
func mix(h uint64, b *block.Block) uint64 {
	h = h*0x9E3779B97F4A7C15 + uint64(b.NumRows())
	if b.Identity().Len() > 0 {
		h ^= b.Identity().At(0).Position * 0xD6E8FEB86659FD93
	}
	return h
}

// pass returns the block if it is to go on, or nil if it was left out or held.
func (s *sentRows) pass(b *block.Block, op string) (*block.Block, error) {
	if s.holding {
		s.held = append(s.held, b)
		return nil, nil
	}
	n := uint64(b.NumRows())
	if s.skip == 0 {
		s.rows += n
		s.hash = mix(s.hash, b)
		return b, nil
	}
	defer b.Release()
	if n > s.skip {
		return nil, otherRows(op)
	}
	s.skip -= n
	s.seen = mix(s.seen, b)
	if s.skip == 0 && s.seen != s.hash {
		return nil, otherRows(op)
	}
	return nil, nil
}

// check fails if a retry gave fewer rows than the attempt before it.
func (s *sentRows) check(op string) error {
	if s.skip > 0 {
		return otherRows(op)
	}
	return nil
}

func otherRows(op string) error {
	return &dataset.FatalError{Err: fmt.Errorf("retry %s: it gave other rows for the same input; declare it nondeterministic", op)}
}

// letGo emits the held output of a nondeterministic operator after Process has returned.
func (w *worker) letGo(c *chainOp, err error) error {
	held, rejected := c.sent.held, c.sent.rejected
	c.sent.held, c.sent.rejected, c.sent.holding = nil, nil, false
	for _, r := range rejected {
		if err == nil {
			err = w.give(r)
		}
	}
	for i, b := range held {
		if err != nil {
			b.Release()
			continue
		}
		if e := c.emit(b); e != nil {
			err = e
			held[i] = nil
		}
	}
	return err
}
