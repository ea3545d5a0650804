package commit

import (
	"context"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

// SetCrashpoint makes the process call f at the named moments; tests kill it there.
func SetCrashpoint(f func(string)) { crashpoint = f }

// Logged is what a run's log holds, for the test that resuming from it would be right.
type Logged struct {
	Paths    map[uint64]string // by ordinal
	Parts    []dataset.Receipt
	Spans    []LoggedSpan
	Deferred bool
	Finished bool
}

// LoggedSpan is a recorded range of input.
type LoggedSpan struct{ Ordinal, First, End uint64 }

// OpenLogs reads the logs of the runs that are not published.
func OpenLogs(ctx context.Context, store dataset.Storage) (map[string]Logged, error) {
	runs, err := openRuns(ctx, store.List)
	if err != nil {
		return nil, err
	}
	out := map[string]Logged{}
	for _, run := range runs {
		l := Logged{Paths: map[uint64]string{}}
		_, _, err := readLog(ctx, store, run, func(k kind, p []byte) error { return l.add(k, p) })
		if err != nil {
			return nil, err
		}
		out[run] = l
	}
	return out, nil
}

func (l *Logged) add(k kind, p []byte) error {
	switch k {
	case kindSplits:
		return decodeSplits(p, func(j journaled) error {
			for i, r := range j.split.Ranges {
				l.Paths[j.ordinals[i]] = r.File.Path
			}
			return nil
		})
	case kindGeneration, kindSnapshot:
		g, err := decodeGeneration(p)
		if err != nil {
			return err
		}
		if k == kindSnapshot {
			l.Parts, l.Spans, l.Deferred = nil, nil, false
		}
		l.Parts = append(l.Parts, g.Parts...)
		l.Deferred = l.Deferred || g.Deferred
		for _, s := range g.done.list {
			for o := s.ordinal; o < s.ordinal+s.files; o++ {
				l.Spans = append(l.Spans, LoggedSpan{o, s.first, s.end})
			}
		}
	case kindFinish:
		l.Finished = true
	}
	return nil
}

// SetSpoolBuffer sets, for a test, how many bytes of dead letters stay in memory.
func SetSpoolBuffer(t testing.TB, n int) {
	old := spoolBuffer
	spoolBuffer = n
	t.Cleanup(func() { spoolBuffer = old })
}

// SetCompactAfter sets, for a process that tests, how many segments an attempt must find to give up before it does so.
func SetCompactAfter(n int) { compactAfter = n }

// Segments are the numbers of the segments of a run's log that are there, and those that were given up.
func Segments(ctx context.Context, store dataset.Storage, run string) (there, dropped []int, err error) {
	if dropped, err = droppedSegments(ctx, store, run); err != nil {
		return nil, nil, err
	}
	segs, err := segments(ctx, store, run, dropped)
	for _, s := range segs {
		there = append(there, s.number)
	}
	return there, dropped, err
}

// CloseGenerations closes the open generations, as reaching the size of a part does.
func (m *Manager) CloseGenerations() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.mu.current {
		if g != nil {
			m.closeGeneration(g)
		}
	}
}
