package csv

import (
	"bytes"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// chunkBytes is how much is read at once: small enough to stay in the second-level cache while it is parsed.
	chunkBytes = 256 << 10
	// overRead is how far a read may go past the end of a range to catch the end of its last record without another call.
	overRead = 16 << 10
)

// errLong reports that the record at lo does not end within the limit; skip passes it.
var errLong = errors.New("the record is longer than max_record")

// chunks gives the bytes of one range in runs that end in a newline, in bounded memory. A range owns the records that start in it.
type chunks struct {
	mem    memory.Allocator
	r      io.Reader
	buf    []byte
	base   uint64 // position in the file of buf[0]
	lo, hi int    // buf[lo:hi] was read and is not parsed
	to     int    // buf[lo:to] ends in a newline
	end    uint64 // the range ends here; its last record may go on
	eof    bool
	err    error // of a read that gave bytes too: it comes once the records among them are parsed
}

// open starts a range whose bytes r gives from position from on.
func (c *chunks) open(r io.Reader, from, end uint64) {
	c.r, c.base, c.lo, c.hi, c.to, c.end, c.eof, c.err = r, from, 0, 0, 0, end, false, nil
	want := chunkBytes + pad // less for small files and short ranges, rounded so that the next ones fit too
	if n := end - from + overRead; n < chunkBytes {
		want = int(n+overRead-1)/overRead*overRead + pad
	}
	if len(c.buf) < want || len(c.buf) > 4*chunkBytes {
		c.release()
		c.buf = c.mem.Allocate(want)
	}
}

func (c *chunks) release() {
	if c.buf != nil {
		c.mem.Free(c.buf)
	}
	c.buf = nil
}

// more reads on: buf[lo:to] gets longer, by at least one newline, unless the text is at its end. Positions in buf change. Nothing up to
// to ends the record at lo when that is called; past limit bytes it gives up with errLong.
func (c *chunks) more(limit int) error {
	scanned := max(c.to, c.lo)
	for {
		if k := bytes.LastIndexByte(c.buf[scanned:c.hi], '\n'); k >= 0 {
			c.to = scanned + k + 1
			return nil
		}
		if c.eof {
			if c.hi > c.lo && c.to < c.hi {
				c.buf[c.hi] = '\n' // the last record has none of its own; pad leaves room
				c.hi++
				c.to = c.hi
			}
			return nil
		}
		if c.hi-c.lo > limit {
			return errLong
		}
		c.compact()
		scanned = c.hi
		if err := c.read(); err != nil {
			return err
		}
	}
}

// compact moves what is left to the front of the buffer and doubles the buffer if that leaves too little room.
func (c *chunks) compact() {
	if c.lo > 0 {
		copy(c.buf, c.buf[c.lo:c.hi])
		c.base += uint64(c.lo)
		c.hi -= c.lo
		c.to = max(c.to-c.lo, 0)
		c.lo = 0
	}
	if size := len(c.buf) - pad; c.hi > size/2 {
		grown := c.mem.Allocate(2*size + pad)
		copy(grown, c.buf[:c.hi])
		c.mem.Free(c.buf)
		c.buf = grown
	}
}

// read fills the free part of the buffer, not far beyond the end of the range.
func (c *chunks) read() error {
	at := c.base + uint64(c.hi)
	want := uint64(len(c.buf) - pad - c.hi)
	if at < c.end {
		want = min(want, c.end-at+overRead)
	} else {
		want = min(want, max(overRead, uint64(c.hi-c.lo))) // of a record that is long already, more at a time
	}
	n, err := c.pull(c.buf[c.hi : c.hi+int(want)])
	c.hi += n
	return err
}

// pull reads once. An error that comes with bytes is kept for the next time.
func (c *chunks) pull(p []byte) (int, error) {
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

// skip passes the rest of the record at lo, whose machine is in state s, without keeping it, and returns how many newlines it passed. It
// stops at the end of the text.
func (c *chunks) skip(d dialect, s state) (lines int64, err error) {
	for {
		n, next, done := d.advance(s, c.buf[c.lo:c.hi])
		lines += int64(bytes.Count(c.buf[c.lo:c.lo+n], []byte{'\n'}))
		c.lo += n
		s = next
		if done || c.eof {
			c.to = c.lo
			return lines, nil
		}
		c.base += uint64(c.hi)
		c.lo, c.hi, c.to = 0, 0, 0
		k, err := c.pull(c.buf[:min(len(c.buf)-pad, chunkBytes)])
		c.hi = k
		if err != nil {
			return lines, err
		}
	}
}
