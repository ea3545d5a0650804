package jsonl

import (
	"bytes"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// chunkBytes is how much is read at once: small enough to stay in the second-level cache while it is parsed.
	chunkBytes = 256 << 10
	// overRead is how far a read may go past the end of a range to catch the end of its last line without another call.
	overRead = 16 << 10
)

// errLongLine reports a line longer than the limit; chunks is then at the start of that line and passes it with skipLine.
var errLongLine = errors.New("the line is longer than max_line")

// chunks cuts the bytes of one range into runs of whole lines, in bounded memory. A range owns the lines that start in it.
type chunks struct {
	mem     memory.Allocator
	r       io.Reader
	buf     []byte
	base    uint64 // position in the file of buf[0]
	lo, hi  int    // buf[lo:hi] was read and not given out
	end     uint64 // the range ends here; its last line may go on
	maxLine int
	eof     bool
}

// open starts a range. r gives the bytes from position from on; when from is not the start of the file, the caller passes the byte
// before the range too, and the line that it belongs to is skipped.
func (c *chunks) open(r io.Reader, from, end uint64) {
	c.r, c.base, c.lo, c.hi, c.end, c.eof = r, from, 0, 0, end, false
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

// pos is the position of the next line.
func (c *chunks) pos() uint64 { return c.base + uint64(c.lo) }

// next returns the bounds in buf of one or more whole lines, each ending in a newline. They stay valid until the next call. io.EOF
// ends the range.
func (c *chunks) next() (from, to int, err error) {
	scanned := c.lo
	for {
		if c.pos() >= c.end {
			return 0, 0, io.EOF
		}
		if k := bytes.LastIndexByte(c.buf[scanned:c.hi], '\n'); k >= 0 {
			from, to = c.lo, scanned+k+1
			c.lo = to
			return from, to, nil
		}
		if c.hi-c.lo > c.maxLine {
			return 0, 0, errLongLine
		}
		if c.eof {
			if c.lo == c.hi {
				return 0, 0, io.EOF
			}
			c.buf[c.hi] = '\n' // the last line has none of its own; pad leaves room
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
func (c *chunks) compact() {
	if c.lo > 0 {
		copy(c.buf, c.buf[c.lo:c.hi])
		c.base += uint64(c.lo)
		c.hi -= c.lo
		c.lo = 0
	}
	if size := len(c.buf) - pad; c.hi > size/2 {
		grown := c.mem.Allocate(max(size, min(2*size, c.maxLine+overRead)) + pad)
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
		want = min(want, overRead)
	}
	n, err := c.r.Read(c.buf[c.hi : c.hi+int(want)])
	c.hi += n
	if err == io.EOF {
		c.eof = true
		return nil
	}
	return err
}

// skipLine passes the rest of the line at pos, reading it through the buffer without keeping it. It stops early at the end of the
// range: no line behind it is wanted.
func (c *chunks) skipLine() error {
	for {
		if k := bytes.IndexByte(c.buf[c.lo:c.hi], '\n'); k >= 0 {
			c.lo += k + 1
			return nil
		}
		c.base += uint64(c.hi)
		c.lo, c.hi = 0, 0
		if c.eof || c.base >= c.end {
			return nil
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// fill reads one chunk into the empty buffer.
func (c *chunks) fill() error {
	n, err := c.r.Read(c.buf[:min(len(c.buf)-pad, chunkBytes)])
	c.hi = n
	if err == io.EOF {
		c.eof = true
		return nil
	}
	return err
}
