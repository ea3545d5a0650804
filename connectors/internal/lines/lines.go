package lines

import (
	"bytes"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Pad is how many bytes may be read behind the lines, whatever they are.
const Pad = 64

const (
	// chunkBytes is how much is read at once: small enough to stay in the second-level cache while it is parsed.
	chunkBytes = 256 << 10
	// overRead is how far a read may go past the end of a range to catch the end of its last line without another call.
	overRead = 16 << 10
)

// ErrLong reports a line longer than the limit; Chunks is then at the start of that line and passes it with Skip.
var ErrLong = errors.New("the line is longer than max_line")

// Chunks cuts the bytes of one range into runs of whole lines, in bounded memory. A range owns the lines that start in it.
type Chunks struct {
	mem     memory.Allocator
	r       io.Reader
	Buf     []byte // what Next spoke of, and Pad bytes behind it
	Base    uint64 // position in the file of Buf[0]
	lo, hi  int    // Buf[lo:hi] was read and not given out
	end     uint64 // the range ends here; its last line may go on
	maxLine int
	eof     bool
	err     error // of a read that gave bytes too: it comes once the lines among them are given out
}

// New makes Chunks for lines of up to maxLine bytes.
func New(mem memory.Allocator, maxLine int) *Chunks { return &Chunks{mem: mem, maxLine: maxLine} }

// MaxLine is the longest line.
func (c *Chunks) MaxLine() int { return c.maxLine }

// Open starts a range. r gives the bytes from position from on; when from is not the start of the file, the caller passes the byte
// before the range too, and the line that it belongs to is skipped.
func (c *Chunks) Open(r io.Reader, from, end uint64) {
	c.r, c.Base, c.lo, c.hi, c.end, c.eof, c.err = r, from, 0, 0, end, false, nil
	want := chunkBytes + Pad // less for small files and short ranges, rounded so that the next ones fit too
	if n := end - from + overRead; n < chunkBytes {
		want = int(n+overRead-1)/overRead*overRead + Pad
	}
	if len(c.Buf) < want || len(c.Buf) > 4*chunkBytes {
		c.Release()
		c.Buf = c.mem.Allocate(want)
	}
}

// Release frees the buffer.
func (c *Chunks) Release() {
	if c.Buf != nil {
		c.mem.Free(c.Buf)
	}
	c.Buf = nil
}

// Pos is the position of the next line.
func (c *Chunks) Pos() uint64 { return c.Base + uint64(c.lo) }

// Next returns the bounds in Buf of one or more whole lines, each ending in a newline. They stay valid until the next call. io.EOF
// ends the range.
func (c *Chunks) Next() (from, to int, err error) {
	scanned := c.lo
	for {
		if c.Pos() >= c.end {
			return 0, 0, io.EOF
		}
		if k := bytes.LastIndexByte(c.Buf[scanned:c.hi], '\n'); k >= 0 {
			from, to = c.lo, scanned+k+1
			c.lo = to
			return from, to, nil
		}
		if c.hi-c.lo > c.maxLine {
			return 0, 0, ErrLong
		}
		if c.eof {
			if c.lo == c.hi {
				return 0, 0, io.EOF
			}
			c.Buf[c.hi] = '\n' // the last line has none of its own; the pad leaves room
			c.hi++
			continue
		}
		c.compact()
		scanned = c.hi
		if err := c.read(); err != nil {
			return 0, 0, err
		}
	}
}

// compact moves what is left to the front of the buffer and doubles the buffer if that leaves too little room.
func (c *Chunks) compact() {
	if c.lo > 0 {
		copy(c.Buf, c.Buf[c.lo:c.hi])
		c.Base += uint64(c.lo)
		c.hi -= c.lo
		c.lo = 0
	}
	if size := len(c.Buf) - Pad; c.hi > size/2 {
		grown := c.mem.Allocate(max(size, min(2*size, c.maxLine+overRead)) + Pad)
		copy(grown, c.Buf[:c.hi])
		c.mem.Free(c.Buf)
		c.Buf = grown
	}
}

// read fills the free part of the buffer, not far beyond the end of the range.
func (c *Chunks) read() error {
	at := c.Base + uint64(c.hi)
	want := uint64(len(c.Buf) - Pad - c.hi)
	if at < c.end {
		want = min(want, c.end-at+overRead)
	} else {
		want = min(want, overRead)
	}
	n, err := c.pull(c.Buf[c.hi : c.hi+int(want)])
	c.hi += n
	return err
}

// pull reads once. An error that comes with bytes is kept for the next time.
func (c *Chunks) pull(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p)
	switch {
	case err == io.EOF:
		c.eof = true
	case n > 0:
		c.err = err
	default:
		return 0, err
	}
	return n, nil
}

// Skip passes the rest of the line at pos, reading it through the buffer without keeping it. It stops early at the end of the
// range: no line behind it is wanted.
func (c *Chunks) Skip() error {
	for {
		if k := bytes.IndexByte(c.Buf[c.lo:c.hi], '\n'); k >= 0 {
			c.lo += k + 1
			return nil
		}
		c.Base += uint64(c.hi)
		c.lo, c.hi = 0, 0
		if c.eof || c.Base >= c.end {
			return nil
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// fill reads one chunk into the empty buffer.
func (c *Chunks) fill() error {
	n, err := c.pull(c.Buf[:min(len(c.Buf)-Pad, chunkBytes)])
	c.hi = n
	return err
}
