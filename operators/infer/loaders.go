package infer

import (
	"sync"

	"github.com/sluice-data/sluice/operators/infer/internal/prep"
)

// loaders are the sets of loaders, one a request that is being made ready. It is safe for concurrent use.
type loaders struct {
	bound []prep.Bound
	mu    sync.Mutex
	idle  [][]prep.Loader
}

func (l *loaders) get() []prep.Loader {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		set := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return set
	}
	set := make([]prep.Loader, len(l.bound))
	for i, b := range l.bound {
		set[i] = b.Loader()
	}
	return set
}

func (l *loaders) put(set []prep.Loader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, set)
}

// close frees idle loaders; the engine has waited for the others.
func (l *loaders) close() {
	for _, set := range l.idle {
		for _, x := range set {
			x.Close()
		}
	}
	l.idle = nil
}
