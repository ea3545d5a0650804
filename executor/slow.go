package executor

import (
	"fmt"
	"time"

	"github.com/sluice-data/sluice/dataset/block"
)

// A block is slow when it takes at least slowAtLeast, and slowTimes the median of its stage. Before slowAfter blocks there is no median worth the name.
const (
	slowAtLeast = 100 * time.Millisecond
	slowTimes   = 4
	slowAfter   = 8
)

// SlowBlock is a block, or an asynchronous call, that took much longer than others of its stage.
type SlowBlock struct {
	Stage  int           // number of the stage in the report
	Name   string        // of the stage, or of the step whose call it was
	Began  time.Time     // its end less what it took; waits in between make the true beginning earlier
	Took   time.Duration // of computing
	Median time.Duration // of the stage so far
	Rows   int64         // zero for calls
	Bytes  int64
	Where  string // file and row of its first row; empty if that is not known
}

// handled is the block in hand, as it is told of if it turns out slow.
type handled struct {
	rows, bytes int64
	first       block.RowID
}

// note remembers the block that is begun, if anybody wants to know of slow ones.
func (w *worker) note(b *block.Block) {
	if w.run.cfg.Slow == nil {
		return
	}
	w.last = handled{rows: int64(b.NumRows()), bytes: b.Bytes()}
	if id := b.Identity(); id.Len() > 0 {
		w.last.first = id.At(0)
	}
}

// slow tells of the block in hand if it was slow.
func (w *worker) slow(took time.Duration) {
	if took < slowAtLeast || w.run.cfg.Slow == nil {
		return
	}
	s := SlowBlock{Name: w.stage.Name, Took: took, Rows: w.last.rows, Bytes: w.last.bytes}
	if f := w.last.first.File; f != nil {
		s.Where = fmt.Sprintf("%s at %d", f.Path, w.last.first.Position)
	}
	w.tellSlow(s)
}

// slowCall tells of an asynchronous call if it was slow.
func (w *worker) slowCall(step string, took time.Duration) {
	if took >= slowAtLeast && w.run.cfg.Slow != nil {
		w.tellSlow(SlowBlock{Name: step, Took: took})
	}
}

func (w *worker) tellSlow(s SlowBlock) {
	count := &w.stage.count.took
	if count.total() <= slowAfter {
		return
	}
	if s.Median = count.quantiles(0.5)[0]; s.Took < slowTimes*s.Median {
		return
	}
	s.Stage, s.Began = int(w.stage.id), time.Now().Add(-s.Took)
	w.run.cfg.Slow(s)
}
