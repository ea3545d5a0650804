package executor

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestHistogramIsRightToASixteenth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1<<41), 1, 200).Draw(t, "values")
		var h histogram
		for _, v := range values {
			h.add(v)
		}
		slices.Sort(values)
		got := h.quantiles(0.5, 0.99)
		for i, share := range []float64{0.5, 0.99} {
			want := values[max(int(share*float64(len(values))+0.5), 1)-1]
			if diff := int64(got[i]) - want; diff < -want/16-1 || diff > want/16+1 {
				t.Fatalf("quantile %v is %d, want %d within a sixteenth", share, got[i], want)
			}
		}
	})
}

func TestHistogramEnds(t *testing.T) {
	var h histogram
	if q := h.quantiles(0.5); q[0] != 0 {
		t.Errorf("nothing was added, and the median is %s", q[0])
	}
	h.add(-5)
	h.add(1 << 62)
	if q := h.quantiles(0.1, 1); q[0] != 0 || q[1] < time.Hour {
		t.Errorf("ends are %v", q)
	}
	for ns := int64(1); ns > 0 && ns < 1<<43; ns = ns*9/8 + 1 { // buckets ascend with values
		if bucketOf(ns) < bucketOf(ns-1) || bucketOf(ns) >= histogramBuckets {
			t.Fatalf("%d is in bucket %d, %d in %d", ns-1, bucketOf(ns-1), ns, bucketOf(ns))
		}
	}
}
