package commit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// logFormat is the version of the run log.
const logFormat = 1

const (
	// segmentBytes is when a segment is closed: small enough to be read whole, large enough that a log of 10M splits has few.
	segmentBytes = 16 << 20
	// splitsBytes is how much the journal of splits gathers for one record; splits need not be durable before the generation that
	// holds their rows, whose record always follows them.
	splitsBytes = 16 << 10
)

// segmentHeader begins a segment. It says how far the one before it was valid, so that damage in the middle of a log is not taken
// for a torn tail.
type segmentHeader struct {
	Format  int      `json:"format"`
	Run     string   `json:"run"`
	Attempt int      `json:"attempt"`
	Segment int      `json:"segment"`
	Before  logPoint `json:"before"`
}

// logPoint is a place in a segment.
type logPoint struct {
	Bytes int64  `json:"bytes"`
	Chain uint32 `json:"chain"`
}

func segmentName(run string, n int) string { return fmt.Sprintf("%s/log/%08d", run, n) }

// runLog appends to the log of one run. It is safe for concurrent use.
type runLog struct {
	store   dataset.Storage
	run     string
	attempt int
	limit   int64 // of a segment's bytes
	mu      struct {
		sync.Mutex
		log     dataset.Log
		segment int
		at      logPoint
		buf     []byte
		splits  splitsEncoder
		err     error // the first failure: what the tail holds is unknown from then on
	}
}

// openRunLog begins a new segment behind those that exist; a torn tail is never appended to.
func openRunLog(ctx context.Context, store dataset.Storage, run string, attempt int, last int, before logPoint) (*runLog, error) {
	l := &runLog{store: store, run: run, attempt: attempt, limit: segmentBytes}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(ctx, last+1, before); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *runLog) open(ctx context.Context, segment int, before logPoint) error {
	log, err := l.store.Append(ctx, segmentName(l.run, segment))
	if err != nil {
		return fmt.Errorf("open run log: %w", err)
	}
	l.mu.log, l.mu.segment, l.mu.at = log, segment, logPoint{}
	head, err := json.Marshal(segmentHeader{logFormat, l.run, l.attempt, segment, before})
	if err != nil {
		return err
	}
	return l.put(kindHeader, head)
}

// put appends one record; the lock is held.
func (l *runLog) put(k kind, payload []byte) error {
	var err error
	if l.mu.buf, l.mu.at.Chain, err = appendRecord(l.mu.buf[:0], l.mu.at.Chain, k, payload); err != nil {
		return err
	}
	if err := l.mu.log.Append(l.mu.buf); err != nil {
		return fmt.Errorf("write run log: %w", err)
	}
	l.mu.at.Bytes += int64(len(l.mu.buf))
	return nil
}

func (l *runLog) flushSplits() error {
	if l.mu.splits.empty() {
		return nil
	}
	return l.put(kindSplits, l.mu.splits.take())
}

// split journals a split, without waiting for the disk.
func (l *runLog) split(source uint32, s *dataset.Split, ordinals []uint64) error {
	return l.locked(func() error {
		l.mu.splits.add(source, s, ordinals)
		if l.mu.splits.size() < splitsBytes {
			return nil
		}
		return l.flushSplits()
	})
}

// append adds a record behind the splits journaled so far, without waiting for the disk.
func (l *runLog) append(k kind, payload []byte) error {
	return l.locked(func() error {
		if err := l.flushSplits(); err != nil {
			return err
		}
		return l.put(k, payload)
	})
}

// sync makes everything appended so far durable, and begins a new segment if this one is full.
func (l *runLog) sync(ctx context.Context) error {
	return l.locked(func() error {
		if err := l.flushSplits(); err != nil {
			return err
		}
		if err := l.mu.log.Sync(); err != nil {
			return fmt.Errorf("sync run log: %w", err)
		}
		if l.mu.at.Bytes < l.limit {
			return nil
		}
		if err := l.mu.log.Close(); err != nil {
			return fmt.Errorf("close run log: %w", err)
		}
		return l.open(ctx, l.mu.segment+1, l.mu.at)
	})
}

func (l *runLog) locked(f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.err == nil {
		l.mu.err = f()
	}
	return l.mu.err
}

func (l *runLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.err == nil {
		l.mu.err = errors.New("write run log: it is closed")
	}
	return l.mu.log.Close()
}
