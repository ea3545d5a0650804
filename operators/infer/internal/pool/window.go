package pool

import (
	"time"

	"github.com/sluice-data/sluice/gpu"
)

// window is how many requests a replica may have in flight: additive increase, multiplicative decrease. Where the engine tells how many
// requests wait, that decides; where not, the time of a request against the least ever seen does, which grows with what waits.
type window struct {
	size    float64
	most    float64
	fixed   bool          // in-process models: what runs at once is known
	latency time.Duration // moving mean
	least   time.Duration // shortest of late, which drifts up so that a faster past is forgotten
	done    int           // requests since size last changed
	full    bool          // the window was used up since
}

// growth and shrink of a window, and the shares of waiting requests and of longer times that decide.
const (
	shrinkBy    = 0.8
	halve       = 0.5
	waitShare   = 10 // shrink when more than a tenth of the running wait
	growBelow   = 1.5
	shrinkAbove = 2.2
	drift       = 1.02
)

// newWindow begins at twice what the replica works on at once, which keeps it busy while answers and requests are on their way.
func newWindow(parallel, most int, fixed bool) window {
	w := window{size: 2, most: float64(max(most, 1)), fixed: fixed}
	if parallel > 0 {
		w.size = float64(2 * parallel)
	}
	if fixed {
		w.size = float64(max(parallel, 1))
	}
	w.size = min(w.size, w.most)
	return w
}

func (w *window) whole() int { return max(1, int(w.size)) }

// took counts a request that was answered after d, and says whether it is time to look at the load.
func (w *window) took(d time.Duration) (due bool) {
	if w.latency == 0 {
		w.latency, w.least = d, d
	}
	w.latency += (d - w.latency) / 8
	w.least = min(w.least, d)
	w.done++
	return !w.fixed && w.done >= w.whole()
}

// heed changes the size by what the engine says, or by times if it says nothing.
func (w *window) heed(load *gpu.Load) {
	w.done = 0
	busy, idle := false, false
	if load != nil {
		busy = load.Waiting*waitShare > max(load.Running, waitShare)
		idle = load.Waiting == 0
	} else {
		busy = float64(w.latency) > shrinkAbove*float64(w.least)
		idle = float64(w.latency) < growBelow*float64(w.least)
		w.least = time.Duration(float64(w.least) * drift)
	}
	switch {
	case busy:
		w.size = max(1, w.size*shrinkBy)
	case idle && w.full:
		w.size = min(w.most, w.size+max(1, w.size/8))
	}
	w.full = false
}

// overloaded is what a refusal of the engine does.
func (w *window) overloaded() {
	if !w.fixed {
		w.size, w.done, w.full = max(1, w.size*halve), 0, false
	}
}
