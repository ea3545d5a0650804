package csv

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
)

// cuts finds the state of the machine at positions of one file, without running it from the start: where every quote stands right at the
// edge of a field, or doubled, the state follows from how many quotes come before. The file is counted in pieces that readers share;
// each reader counts those that it needs and nobody has counted yet, so the scan is as parallel as the reading.
//
// A quote at another place (5" pipe) is ordinary text to the machine and breaks the count. From the first such piece on, and in dialects
// with escapes or comments, the machine itself runs over the file, once, in order.
type cuts struct {
	d      dialect
	fits   [256]beside
	size   int64
	start  int64 // behind the byte order mark
	pieces []piece
	exact  struct {
		sync.Mutex
		at    int64 // the machine ran up to here, the start of a piece
		s     state
		known map[int64]state // at starts of pieces
	}
}

// pieceBytes is how much of a file is counted at once.
const pieceBytes = 4 << 20

// piece is the count of one piece.
type piece struct {
	sync.Mutex
	done bool
	count
}

// count is what the quotes of a stretch of bytes say.
type count struct {
	odd bool    // their number
	bad [2]bool // whether counting misleads, if the stretch starts outside (0) or inside (1) quotes
}

func newCuts(d dialect, size int64, bom bool) *cuts {
	c := &cuts{d: d, fits: d.besides(), size: size, pieces: make([]piece, size/pieceBytes+1)}
	if bom {
		c.start = int64(len(charset.Mark))
	}
	c.exact.known = map[int64]state{}
	return c
}

// cutReader reads the file for cuts.
type cutReader struct {
	h   file.Handle
	ctx context.Context
	buf []byte
}

// scanBytes is how much a cutReader holds.
const scanBytes = 256 << 10

// stateAt returns the state of the machine before the byte at pos.
func (c *cuts) stateAt(ctx context.Context, h file.Handle, mem memory.Allocator, pos int64) (state, error) {
	if pos <= c.start {
		return atRecord, nil
	}
	r := &cutReader{h: h, ctx: ctx, buf: mem.Allocate(scanBytes + 2)}
	defer mem.Free(r.buf)
	if c.d.quote == 0 && c.d.escape == 0 {
		return c.edge(r, pos, 0)
	}
	if c.d.escape != 0 || c.d.comment != 0 {
		return c.exactAt(r, 0, atRecord, pos)
	}
	last := int(pos / pieceBytes)
	if err := c.countAll(r, last); err != nil {
		return 0, err
	}
	inside := 0
	for i := range last + 1 {
		from := int64(i) * pieceBytes
		n := c.pieces[i].count
		if i == last {
			var err error
			if n, err = c.count(r, from, pos); err != nil {
				return 0, err
			}
		}
		if n.bad[inside] {
			s, err := c.edge(r, from, inside)
			if err != nil {
				return 0, err
			}
			return c.exactAt(r, from, s, pos)
		}
		if n.odd {
			inside ^= 1
		}
	}
	return c.edge(r, pos, inside)
}

// countAll counts the pieces before the given one: first those that nobody else is at.
func (c *cuts) countAll(r *cutReader, before int) error {
	for pass := range 2 {
		for i := before - 1; i >= 0; i-- {
			p := &c.pieces[i]
			if pass == 0 && !p.TryLock() {
				continue
			}
			if pass == 1 {
				p.Lock()
			}
			var err error
			if !p.done {
				p.count, err = c.count(r, int64(i)*pieceBytes, int64(i+1)*pieceBytes)
				p.done = err == nil
			}
			p.Unlock()
			if err != nil {
				return err
			}
		}
	}
	return nil
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

// exactAt runs the machine up to pos; s is its state at from, if it did not get further before.
func (c *cuts) exactAt(r *cutReader, from int64, s state, pos int64) (state, error) {
	e := &c.exact
	e.Lock()
	defer e.Unlock()
	if len(e.known) == 0 {
		e.at, e.s = from, s
		e.known[from] = s
	}
	at, s := e.at, e.s
	if known, ok := e.known[pos/pieceBytes*pieceBytes]; ok {
		at, s = pos/pieceBytes*pieceBytes, known
	}
	for at < pos {
		end := min(at+scanBytes, pos, (at/pieceBytes+1)*pieceBytes)
		b, err := r.at(at, end)
		if err != nil {
			return 0, err
		}
		s = c.d.run(s, b[max(0, c.start-at):])
		if at = end; at%pieceBytes == 0 && at > e.at {
			e.at, e.s = at, s
			e.known[at] = s
		}
	}
	return s, nil
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

// beside says what a quote may have beside it.
type beside uint8

const (
	mayOpen  beside = 1 << iota // before a quote that opens
	mayClose                    // behind a quote that closes
)

// besides says it of every byte.
func (d dialect) besides() (t [256]beside) {
	for _, c := range []byte{d.delim, '\n', d.quote} {
		t[c] = mayOpen | mayClose
	}
	t['\r'] = mayClose
	return t
}

// quotes counts the quotes in b[from:to]. What lies before and behind is there to look at; where nothing does, the text starts or ends. It
// looks at eight bytes at once: all masks below have a one in the byte that they are about.
func (c *cuts) quotes(b []byte, from, to int) (n count) {
	q, d := uint64(c.d.quote)*ones, uint64(c.d.delim)*ones
	var seen uint64                                   // quotes so far
	var notOpen, notClose, notOpen2, notClose2 uint64 // those at even places that cannot open, cannot close; at odd places
	for i := from; i < to; i += 8 {
		var x uint64
		if i+8 <= len(b) {
			x = binary.LittleEndian.Uint64(b[i:])
		} else {
			var last [8]byte
			copy(last[:], b[i:])
			x = binary.LittleEndian.Uint64(last[:])
		}
		quotes := zeroBytes(x ^ q)
		if i+8 > to {
			quotes &= 1<<(8*(to-i)) - 1
		}
		if quotes == 0 {
			continue
		}
		before := zeroBytes(x^q) | zeroBytes(x^d) | zeroBytes(x^newlines)
		behind := before | zeroBytes(x^'\r'*ones)
		before, behind = before<<8, behind>>8
		if i == 0 || c.fits[b[i-1]]&mayOpen != 0 {
			before |= 1
		}
		if i+8 >= len(b) {
			behind |= 1 << (8*(len(b)-i) - 8) // the text ends behind its last byte
		} else if c.fits[b[i+8]]&mayClose != 0 {
			behind |= 1 << 56
		}
		places := quotes * ones // each byte: how many quotes up to and including it
		even := quotes & (places ^ seen&1*ones)
		odd := quotes &^ even
		notOpen |= even &^ before
		notClose |= even &^ behind
		notOpen2 |= odd &^ before
		notClose2 |= odd &^ behind
		seen += places >> 56
	}
	n.odd = seen&1 == 1
	n.bad[0] = notOpen|notClose2 != 0
	n.bad[1] = notClose|notOpen2 != 0
	return n
}

// zeroBytes has a one in each byte of x that is zero.
func zeroBytes(x uint64) uint64 {
	const lows = ^uint64(highs)
	return ^((x&lows + lows) | x | lows) >> 7
}
