package object

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/sluice-data/sluice/connectors/file"
)

// joinGap is the most between two small parts that are fetched with one request: what lies between is cheaper to fetch than to ask around.
const joinGap = 64 << 10

// piece is what one request of announced parts fetches. Every byte of the parts in it is wanted once.
type piece struct {
	window
	size  int64
	want  int64   // bytes that are still to be read
	turn  int     // when it will be wanted: the turn of its part,
	share float64 // and how far into the part it begins
	begun bool
}

// pieces cuts parts into requests of at most size bytes, by position. Small parts that lie next to each other share one.
func pieces(parts []file.Part, size int64) []*piece {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b file.Part) int { return cmp.Compare(a.Off, b.Off) })
	var out []*piece
	var last *piece // takes more parts
	end := int64(0)
	for _, p := range parts {
		if p.Off < end || p.Len <= 0 { // parts that overlap are of a damaged file
			continue
		}
		end = p.Off + p.Len
		if last != nil && p.Turn == last.turn && p.Off-(last.off+last.size) <= joinGap && end-last.off <= size {
			last.size, last.want = end-last.off, last.want+p.Len
			continue
		}
		last = nil
		n := (p.Len + size - 1) / size
		for i := range n {
			from, to := p.Len*i/n, p.Len*(i+1)/n
			x := &piece{size: to - from, want: to - from, turn: p.Turn, share: float64(i) / float64(n)}
			x.off = p.Off + from
			out = append(out, x)
			if n == 1 {
				last = x
			}
		}
	}
	return out
}

// beside reads parts of a file that are each read in order, side by side, as the columns of a row group are. They are fetched in the order in which
// they will be wanted, with up to Config.Ranges requests under way.
type beside struct {
	h   *handle
	ctx context.Context
	end func()
	mu  struct {
		sync.Mutex
		all    []*piece // by position
		later  []*piece // those not begun, the next first
		flying int
		over   bool
	}
}

func newBeside(h *handle, parts []file.Part) *beside {
	b := &beside{h: h}
	b.ctx, b.end = context.WithCancel(h.ctx)
	b.mu.all = pieces(parts, h.cfg.RangeBytes)
	b.mu.later = slices.Clone(b.mu.all)
	slices.SortStableFunc(b.mu.later, func(x, y *piece) int { return cmp.Or(cmp.Compare(x.turn, y.turn), cmp.Compare(x.share, y.share)) })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.more()
	return b
}

// covers tells whether a position lies in a part that was announced, and was not read before.
func (b *beside) covers(off int64) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at(off) != nil
}

// at finds the piece that holds a position and is wanted. The lock is held.
func (b *beside) at(off int64) *piece {
	i, found := slices.BinarySearchFunc(b.mu.all, off, func(p *piece, off int64) int { return cmp.Compare(p.off, off) })
	if !found {
		i--
	}
	if i < 0 || off >= b.mu.all[i].off+b.mu.all[i].size || b.mu.all[i].dead {
		return nil
	}
	return b.mu.all[i]
}

// read copies what the piece at off has.
func (b *beside) read(p []byte, off int64) (int, error) {
	b.mu.Lock()
	x := b.at(off)
	if x == nil { // another read took the last of it meanwhile
		b.mu.Unlock()
		return len(p), b.h.direct(p, off)
	}
	if !x.begun {
		give, _ := b.h.budget.reserve(b.h.reading, x.size, true)
		b.begin(x, give)
	}
	x.users++
	b.more()
	b.mu.Unlock()
	n, err := 0, error(nil)
	select {
	case <-x.done:
		if err = x.err; err == nil {
			n = copy(p, x.buf[off-x.off:])
		}
	case <-b.h.ctx.Done():
		err = context.Cause(b.h.ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.want -= int64(n); x.want <= 0 {
		x.dead = true
	}
	b.leave(x)
	b.more()
	return n, err
}

// more begins what may be under way. The lock is held.
func (b *beside) more() {
	for len(b.mu.later) > 0 && b.mu.flying < b.h.cfg.Ranges && !b.mu.over {
		x := b.mu.later[0]
		if !x.begun {
			give, ok := b.h.budget.reserve(b.h.reading, x.size, false)
			if !ok {
				return
			}
			b.begin(x, give)
		}
		b.mu.later = b.mu.later[1:]
	}
}

// begin begins to fetch a piece. The lock is held.
func (b *beside) begin(x *piece, give func()) {
	x.begun, x.give, x.done = true, give, make(chan struct{})
	x.buf = takeBuffer(x.size, b.h.cfg.RangeBytes)
	x.users = 1 // the fetch itself
	b.mu.flying++
	b.h.work.Go(func() {
		x.err = fetch(b.ctx, b.h.cfg, b.h.ref, b.h.remote, x.buf, x.off)
		close(x.done)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.mu.flying--
		b.leave(x)
		b.more()
	})
}

// leave ends the use of a piece. The lock is held.
func (b *beside) leave(x *piece) {
	if x.users--; x.dead && x.users == 0 {
		b.h.recycle(&x.window)
	}
}

// drop ends it: what is under way is cancelled.
func (b *beside) drop() {
	b.end()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.mu.all {
		if x.begun && !x.dead && x.users == 0 {
			b.h.recycle(&x.window)
		}
		x.dead = true
	}
	b.mu.later, b.mu.over = nil, true
}
