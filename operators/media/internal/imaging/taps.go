package imaging

import "math"

// weightOne is the sum of the weights of one output sample. With it, a sum of 8-bit samples times
// weights fits 16 bits (255*256 + rounding < 65536), so four sums share a 64-bit word.
const weightOne = 256

// taps is one direction of an antialiased resize: output sample i is the sum of
// weights[off[i]:off[i+1]] times the source samples from first[i] on.
type taps struct {
	first    []int32
	off      []int32
	weights  []uint16
	identity bool
	lo, hi   int // source samples that are read
}

func (t *taps) at(i int) (first int, weights []uint16) {
	return int(t.first[i]), t.weights[t.off[i]:t.off[i+1]]
}

// span says which part of a source axis an output axis shows. Output sample i covers the source
// interval [start+i*scale, start+(i+1)*scale); samples outside [lo, hi) do not exist, so that
// filters at the edge of a crop never see what was cut off.
type span struct {
	lo, hi       int
	start, scale float64
	n            int
}

// maxCachedTaps bounds the tables that a worker keeps. Photos of one camera share theirs, and
// folders of many sizes only pay for making them, about as much as resizing some rows.
const maxCachedTaps = 64

// taps returns the filter table of a span, from the worker's cache if it has it.
func (w *Worker) taps(s span) *taps {
	if t := w.tapCache[s]; t != nil {
		return t
	}
	if w.tapCache == nil || len(w.tapCache) >= maxCachedTaps {
		w.tapCache = make(map[span]*taps, maxCachedTaps)
	}
	t := makeTaps(s)
	w.tapCache[s] = t
	return t
}

// makeTaps builds the table of a triangle filter: as wide as two source samples when enlarging,
// as two output samples when shrinking.
func makeTaps(s span) *taps {
	t := &taps{first: make([]int32, s.n), off: make([]int32, s.n+1), lo: s.hi, hi: s.lo}
	t.identity = s.scale == 1 && s.start == math.Trunc(s.start) && int(s.start) >= s.lo && int(s.start)+s.n <= s.hi
	width := max(s.scale, 1)
	var real []float64
	for i := range s.n {
		center := s.start + (float64(i)+0.5)*s.scale
		from := min(max(int(math.Floor(center-width)), s.lo), s.hi-1)
		to := max(min(int(math.Ceil(center+width)), s.hi), from+1)
		real = real[:0]
		sum := 0.0
		for j := from; j < to; j++ {
			v := max(0, 1-math.Abs(float64(j)+0.5-center)/width)
			real = append(real, v)
			sum += v
		}
		if sum == 0 { // the output lies wholly outside: repeat the nearest sample
			real[0], sum = 1, 1
			if center > float64(s.hi) {
				real[0], real[len(real)-1] = 0, 1
			}
		}
		t.add(i, from, real, sum)
	}
	return t
}

// add rounds the weights of output i so that they sum to weightOne exactly: each takes the rounding
// error of those before it. Zero weights at the ends are dropped.
func (t *taps) add(i, from int, real []float64, sum float64) {
	begin := len(t.weights)
	done, running := 0, 0.0
	for _, v := range real {
		running += v
		q := int(math.Round(running/sum*weightOne)) - done
		done += q
		if q == 0 && len(t.weights) == begin {
			from++
			continue
		}
		t.weights = append(t.weights, uint16(q))
	}
	for t.weights[len(t.weights)-1] == 0 {
		t.weights = t.weights[:len(t.weights)-1]
	}
	t.first[i], t.off[i+1] = int32(from), int32(len(t.weights))
	t.lo, t.hi = min(t.lo, from), max(t.hi, from+len(t.weights)-begin)
}
