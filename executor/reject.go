package executor

import (
	"errors"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

// reject is a failed row on its way to the targets: counted, and set aside with its token.
type reject struct {
	err    *dataset.RowError
	token  *block.Token
	letter *commit.DeadLetter // nil unless rows are set aside
}

// reject takes a failed row of an operator. Attempts at one call of Process that is repeated report the same rows again: they count once.
func (w *worker) reject(c *chainOp, b *block.Block, row int, e *dataset.RowError) error {
	s := &c.sent
	if s.holding { // another attempt may give another answer for the row
		if w.run.failures.fatal() {
			return w.run.failures.add(e)
		}
		s.rejected = append(s.rejected, w.rejectOf(b, row, e, 1+s.repeats))
		return nil
	}
	if s.failedBefore > 0 {
		s.failedBefore--
		return nil
	}
	s.failed++
	return w.give(w.rejectOf(b, row, e, 1+s.repeats))
}

func (w *worker) rejectOf(b *block.Block, row int, e *dataset.RowError, attempts int) reject {
	r := reject{err: e}
	if b.Identity().Len() > row {
		_, _, r.token = b.Identity().Origin(row)
	}
	if w.run.setsAside() {
		r.letter = letterOf(e, attempts)
		r.letter.Row = rowJSON(b, row)
	}
	return r
}

func (r *run) setsAside() bool { return r.plan.Options.OnError == dataset.OnErrorDeadLetter }

// mostMessage bounds the message of a dead letter.
const mostMessage = 8 << 10

func letterOf(e *dataset.RowError, attempts int) *commit.DeadLetter {
	msg := e.Err.Error()
	if len(msg) > mostMessage {
		msg = msg[:mostMessage] + "…"
	}
	return &commit.DeadLetter{Time: time.Now().UTC(), Operator: e.Op, Class: e.Class, Message: msg, Attempts: attempts}
}

// give counts a failed row and gives it to the targets that it would have reached. Without a result that keeps it the row is only counted.
func (w *worker) give(r reject) error {
	ids := []block.RowID{r.err.Row}
	if w.run.retry != nil {
		if ids = w.run.retry.failed(r.err.Row); len(ids) == 0 {
			return nil // not a row that is tried again: it is in the result already, or was filtered
		}
	}
	if err := w.run.failures.add(r.err); err != nil {
		return w.ends(err)
	}
	return w.setAside(r, ids...)
}

// setAside gives a failed row to the targets, under its identity or others.
func (w *worker) setAside(r reject, ids ...block.RowID) error {
	for _, m := range w.stage.managers {
		for _, id := range ids {
			if err := m.SetAside(r.token, id, r.letter); err != nil {
				return err
			}
		}
	}
	return nil
}

// ends makes a ceiling that was reached the cause of the run's end, whichever operator came upon it.
func (w *worker) ends(err error) error {
	if _, ok := errors.AsType[*CeilingError](err); ok {
		w.run.fail(err)
	}
	return err
}

// pendingReject is a failed row of a reader whose token is still to be made.
type pendingReject struct {
	at     spot
	err    *dataset.RowError
	letter *commit.DeadLetter
}

// reject takes a row that the reader could not read. It belongs to the token that is going to cover its position.
func (s *readState) reject(e *dataset.RowError) error {
	f := &s.worker.run.failures
	if e.Row.File == nil {
		return s.worker.give(reject{err: e})
	}
	p := pendingReject{at: spot{s.rangeOf(e.Row), e.Row.Position}, err: e}
	if !p.at.before(s.counted) { // else it was met before the split was opened again
		s.counted = spot{p.at.at, p.at.pos + 1}
		s.worker.run.read.Add(1)
		if err := f.add(e); err != nil {
			return s.worker.ends(err)
		}
	}
	if s.worker.run.setsAside() {
		p.letter = letterOf(e, 1)
	}
	s.pending = append(s.pending, p)
	return nil
}

// spot is a position in a range of a split.
type spot struct {
	at  int
	pos uint64
}

func (p spot) before(q spot) bool { return p.at < q.at || p.at == q.at && p.pos < q.pos }

// rangeOf returns the range of the split that a row lies in. Rows mostly come in order, so it looks from the last one on.
func (s *readState) rangeOf(id block.RowID) int {
	n := len(s.split.Ranges)
	from := min(s.counted.at, max(n-1, 0))
	for k := range n {
		i := (from + k) % n
		if r := &s.split.Ranges[i]; r.ID == id.File && r.Start <= id.Position && id.Position < r.End {
			return i
		}
	}
	return s.cur
}

// bindRejects sets aside, with a new token, the rows that it covers: those before the place that was reached, or all of them where the
// split has ended.
func (s *readState) bindRejects(tok *block.Token, ended bool) error {
	if len(s.pending) == 0 {
		return nil
	}
	var later []pendingReject
	for _, p := range s.pending {
		if !ended && !p.at.before(spot{s.cur, s.pos}) {
			later = append(later, p)
			continue
		}
		commit.CountRead(tok, 1)
		ids := []block.RowID{p.err.Row}
		if re := s.worker.run.retry; re != nil {
			ids = re.failed(p.err.Row)
		}
		if err := s.worker.setAside(reject{p.err, tok, p.letter}, ids...); err != nil {
			return err
		}
	}
	s.pending = later
	return nil
}
