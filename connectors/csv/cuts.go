package csv

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
)

// cuts finds the state of the machine at positions of one file, without running it from the start. It starts from the nearest record that
// is known to start somewhere before, and jumps over the stretches that readers have parsed (stretch); of what lies between, the quotes are
// counted: where every quote stands right at the edge of a field, or doubled, the state follows from how many there are.
//
// A quote at another place (5" pipe) is ordinary text to the machine and breaks the count. Where there is one, and in dialects with escapes
// or comments, the machine itself runs instead.
type cuts struct {
	d     dialect
	fits  [256]beside
	size  int64
	start int64 // behind the byte order mark
	known struct {
		sync.Mutex
		stretches []*stretch // by from
	}
}

// stretch says that if a record starts at from, one starts at to as well. A reader moves to on while it parses.
type stretch struct {
	from int64
	to   atomic.Int64
	sure bool // a record starts at from; guarded by the lock of the list
}

func newCuts(d dialect, size int64, bom bool) *cuts {
	c := &cuts{d: d, fits: d.besides(), size: size}
	if bom {
		c.start = int64(len(charset.Mark))
	}
	c.add(c.start, true)
	return c
}

// add returns the stretch that begins at from, made empty if there is none yet.
func (c *cuts) add(from int64, sure bool) *stretch {
	c.known.Lock()
	defer c.known.Unlock()
	i, found := c.search(from)
	if !found {
		x := &stretch{from: from}
		x.to.Store(from)
		c.known.stretches = slices.Insert(c.known.stretches, i, x)
	}
	x := c.known.stretches[i]
	x.sure = x.sure || sure
	return x
}

// search is where in the list a stretch that begins at from stands or belongs.
func (c *cuts) search(from int64) (i int, found bool) {
	return slices.BinarySearchFunc(c.known.stretches, from, func(x *stretch, at int64) int { return cmp.Compare(x.from, at) })
}

// find is the stretch that begins at from, nil if there is none.
func (c *cuts) find(from int64) *stretch {
	if i, found := c.search(from); found {
		return c.known.stretches[i]
	}
	return nil
}

// passed moves the end of the stretch on. Several readers may parse the same one.
func (x *stretch) passed(to int64) {
	for old := x.to.Load(); old < to && !x.to.CompareAndSwap(old, to); {
		old = x.to.Load()
	}
}

// cutReader reads the file for cuts.
type cutReader struct {
	h   file.Handle
	ctx context.Context
	buf []byte
}

const (
	// scanBytes is how much a cutReader holds.
	scanBytes = 256 << 10
	// guessBytes is how much of the text behind a cut a guess looks at.
	guessBytes = 32 << 10
)

// reader makes a cutReader, to be given back with free.
func (c *cuts) reader(ctx context.Context, h file.Handle, mem memory.Allocator) *cutReader {
	return &cutReader{h: h, ctx: ctx, buf: mem.Allocate(scanBytes + 2)}
}

// guess returns the state before the byte at pos as far as the text behind it shows, which is nearly always right. ok is false where the
// text shows that a guess is worth nothing.
func (c *cuts) guess(ctx context.Context, h file.Handle, mem memory.Allocator, pos int64) (s state, ok bool, err error) {
	r := c.reader(ctx, h, mem)
	defer mem.Free(r.buf)
	n, err := c.count(r, pos, min(pos+guessBytes, c.size))
	if err != nil || n.bad[0] && n.bad[1] {
		return 0, false, err
	}
	inside := 0
	if n.bad[0] {
		inside = 1
	}
	s, err = c.edge(r, pos, inside)
	return s, err == nil, err
}

// stateAt returns the state of the machine before the byte at pos.
func (c *cuts) stateAt(ctx context.Context, h file.Handle, mem memory.Allocator, pos int64) (state, error) {
	if pos <= c.start {
		return atRecord, nil
	}
	r := c.reader(ctx, h, mem)
	defer mem.Free(r.buf)
	if c.d.quote == 0 && c.d.escape == 0 {
		return c.edge(r, pos, 0)
	}
	c.known.Lock()
	defer c.known.Unlock()
	for at := c.nearest(pos); ; {
		if x := c.find(at); x != nil {
			x.sure = true
			if to := x.to.Load(); to > at && to <= pos {
				at = to
				continue
			}
		}
		next := c.after(at, pos)
		if next == nil {
			return c.between(r, at, pos)
		}
		s, err := c.between(r, at, next.from)
		if err != nil {
			return 0, err
		}
		if s == atRecord {
			at = next.from
		} else { // a wrong guess
			c.known.stretches = slices.DeleteFunc(c.known.stretches, func(x *stretch) bool { return x == next })
		}
	}
}

// nearest is the last place up to pos where a record is known to start.
func (c *cuts) nearest(pos int64) int64 {
	at := c.start
	for _, x := range c.known.stretches {
		if x.from > pos {
			break
		}
		if x.sure {
			at = max(at, x.from)
			if to := x.to.Load(); to <= pos {
				at = max(at, to)
			}
		}
	}
	return at
}

// after is the first stretch behind at that begins up to pos.
func (c *cuts) after(at, pos int64) *stretch {
	if i, _ := c.search(at + 1); i < len(c.known.stretches) && c.known.stretches[i].from <= pos {
		return c.known.stretches[i]
	}
	return nil
}

// between is the state before the byte at pos, if a record starts at from.
func (c *cuts) between(r *cutReader, from, pos int64) (state, error) {
	if from == pos {
		return atRecord, nil
	}
	if c.d.escape == 0 && c.d.comment == 0 {
		n, err := c.count(r, from, pos)
		if err != nil {
			return 0, err
		}
		if !n.bad[0] {
			inside := 0
			if n.odd {
				inside = 1
			}
			return c.edge(r, pos, inside)
		}
	}
	s := atRecord
	for at := from; at < pos; at += scanBytes {
		b, err := r.at(at, min(at+scanBytes, pos))
		if err != nil {
			return 0, err
		}
		s = c.d.run(s, b)
	}
	return s, nil
}

// edge is the state before the byte at pos, inside or outside quotes, where counting does not mislead.
func (c *cuts) edge(r *cutReader, pos int64, inside int) (state, error) {
	if inside == 1 {
		return inQuotes, nil
	}
	if pos <= c.start {
		return atRecord, nil
	}
	b, err := r.at(pos-1, pos)
	if err != nil {
		return 0, err
	}
	switch {
	case b[0] == '\n':
		return atRecord, nil
	case b[0] == c.d.delim:
		return atField, nil
	case b[0] == c.d.quote && c.d.quote != 0:
		return atQuote, nil
	}
	return inField, nil
}

// count counts the quotes in [from, to).
func (c *cuts) count(r *cutReader, from, to int64) (n count, err error) {
	from, to = max(from, c.start), min(to, c.size)
	for at := from; at < to; {
		end := min(at+scanBytes, to)
		lead, tail := min(1, at-c.start), min(1, c.size-end)
		b, err := r.at(at-lead, end+tail)
		if err != nil {
			return n, err
		}
		part := c.quotes(b, int(lead), len(b)-int(tail))
		k := 0
		if n.odd {
			k = 1
		}
		n.bad[0] = n.bad[0] || part.bad[k]
		n.bad[1] = n.bad[1] || part.bad[1-k]
		n.odd = n.odd != part.odd
		at = end
	}
	return n, nil
}

// at reads the bytes in [from, to).
func (r *cutReader) at(from, to int64) ([]byte, error) {
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	b := r.buf[:to-from]
	n, err := r.h.ReadAt(b, from)
	if n == len(b) {
		return b, nil
	}
	if err == nil || err == io.EOF {
		err = errors.Join(io.ErrUnexpectedEOF, r.h.Check())
	}
	return nil, err
}
