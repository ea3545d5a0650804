package parquet

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// farFooters is how many footers of files that are far away are read at once: each is a round trip.
const farFooters = 16

// listed is a file with its row groups.
type listed struct {
	ref    dataset.FileRef
	ranges []groupRange
	err    error
	done   chan struct{}
}

// listed lists the files behind the cursor with their row groups, in order. Footers of files that are far away are read several at a time.
func (s *Source) listed(ctx context.Context, after dataset.Cursor) iter.Seq[*listed] {
	if !slices.ContainsFunc(s.set.Patterns(), func(p dataset.Pattern) bool { return file.IsURL(p.Text) }) {
		return s.listedHere(ctx, after)
	}
	return func(yield func(*listed) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var work sync.WaitGroup
		defer work.Wait()
		defer cancel()
		queue := make(chan *listed, farFooters-1) // as many as are read, but for the one that is waited for
		work.Go(func() {
			defer close(queue)
			for ref, err := range s.files(ctx, after) {
				l := &listed{ref: ref, err: err, done: make(chan struct{})}
				select {
				case queue <- l:
				case <-ctx.Done():
					return
				}
				work.Go(func() {
					defer close(l.done)
					s.fill(ctx, l)
				})
				if err != nil {
					return
				}
			}
		})
		for l := range queue {
			<-l.done
			if !yield(l) || l.err != nil {
				return
			}
		}
	}
}

func (s *Source) fill(ctx context.Context, l *listed) {
	if l.err == nil {
		l.err = context.Cause(ctx)
	}
	if l.err == nil {
		l.ranges, l.err = s.ranges(ctx, l.ref)
	}
}

// listedHere is listed for files of this machine.
func (s *Source) listedHere(ctx context.Context, after dataset.Cursor) iter.Seq[*listed] {
	return func(yield func(*listed) bool) {
		for ref, err := range s.files(ctx, after) {
			l := &listed{ref: ref, err: err}
			if s.fill(ctx, l); !yield(l) || l.err != nil {
				return
			}
		}
	}
}
