package object

import (
	"sync"
	"sync/atomic"

	"github.com/sluice-data/sluice/dataset"
)

// budget bounds what all files together read ahead of need.
type budget struct {
	most func() int64
	used atomic.Int64
}

// newBudget bounds reading ahead by what a configuration says; one that cannot be read has failed the opening of the file.
func newBudget(cfg func() (Config, error)) *budget {
	return &budget{most: func() int64 {
		c, err := cfg()
		if err != nil {
			return 0
		}
		return c.AheadBytes
	}}
}

// memoryShare is the part of a run's memory budget that its readers may hold ahead of need.
const memoryShare = 8

// reserve takes n bytes to read ahead for a reader, if there is room; give gives them back. needed says that the reader waits for them: those are counted,
// and need no room.
func (b *budget) reserve(r *dataset.Reading, n int64, needed bool) (give func(), ok bool) {
	most := b.most()
	if r != nil && r.Memory > 0 {
		most = min(most, r.Memory/memoryShare)
	}
	taken := n
	if needed {
		taken = 0
	} else if b.used.Add(n) > most {
		b.used.Add(-n)
		return nil, false
	}
	if r == nil || r.Charge == nil {
		return func() { b.used.Add(-taken) }, true
	}
	release := r.Charge(n)
	return func() { b.used.Add(-taken); release() }, true
}

// buffers are recycled windows of full size.
var buffers sync.Pool

func takeBuffer(n, full int64) []byte {
	if b, ok := buffers.Get().(*[]byte); ok && int64(cap(*b)) >= n {
		return (*b)[:n]
	}
	if n < full/2 {
		return make([]byte, n)
	}
	return make([]byte, n, max(n, full))
}
