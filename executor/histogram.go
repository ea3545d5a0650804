package executor

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in buckets that grow with their size: eight to each power of two nanoseconds, so that a quantile is right to
// one part in sixteen. Adding is one atomic addition; it is safe for concurrent use.
type histogram struct {
	buckets [histogramBuckets]atomic.Uint32
}

const (
	histogramBits    = 3  // buckets to a power of two, as a power of two
	histogramTop     = 42 // the last power: 73 minutes
	histogramBuckets = (histogramTop-histogramBits+1)<<histogramBits + 1
)

// bucketOf is the number of the bucket of a duration.
func bucketOf(ns int64) int {
	v := uint64(max(ns, 0))
	if v < 1<<histogramBits {
		return int(v)
	}
	shift := bits.Len64(v) - histogramBits - 1
	return min((shift+1)<<histogramBits+int(v>>shift)-1<<histogramBits, histogramBuckets-1)
}

// middle is the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket < 1<<histogramBits {
		return time.Duration(bucket)
	}
	shift := bucket>>histogramBits - 1
	low := (1<<histogramBits + bucket&(1<<histogramBits-1)) << shift
	return time.Duration(low + 1<<shift/2)
}

func (h *histogram) add(ns int64) { h.buckets[bucketOf(ns)].Add(1) }

// quantiles returns the durations below which the given shares of all lie, ascending shares; zeros while nothing was added.
func (h *histogram) quantiles(shares ...float64) []time.Duration {
	var counts [histogramBuckets]uint32
	total := uint64(0)
	for i := range counts {
		counts[i] = h.buckets[i].Load()
		total += uint64(counts[i])
	}
	out := make([]time.Duration, len(shares))
	if total == 0 {
		return out
	}
	at, below := 0, uint64(0)
	for i, share := range shares {
		rank := max(uint64(share*float64(total)+0.5), 1)
		for below+uint64(counts[at]) < rank {
			below += uint64(counts[at])
			at++
		}
		out[i] = middle(at)
	}
	return out
}

// total is how many durations were added.
func (h *histogram) total() (n uint64) {
	for i := range h.buckets {
		n += uint64(h.buckets[i].Load())
	}
	return n
}
