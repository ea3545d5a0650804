package commit

import (
	"fmt"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// spoolFile is the size of a file, about; it goes when all of its lines were used.
const spoolFile = 64 << 20

// spoolBuffer is how much is kept in memory before it is written. Tests make it smaller.
var spoolBuffer = 1 << 20

// spool keeps dead letters until their generations are committed: a little of it in memory, the rest in files of the run's spill space.
type spool struct {
	scratch func() (*dataset.ScratchFile, error) // nil: everything stays in memory
	mu      sync.Mutex
	chunks  map[int64]*spoolChunk // by the position of their first byte
	last    *spoolChunk
	size    int64
}

// spoolChunk is one file, or what is still in memory of it.
type spoolChunk struct {
	first int64
	size  int64
	live  int    // lines not used yet
	full  bool   // takes no more lines
	buf   []byte // not in the file
	file  *dataset.ScratchFile
}

// put keeps a line and returns its place.
func (s *spool) put(line []byte) (at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.last
	if c == nil || c.full || c.size >= spoolFile {
		if c != nil && c.live == 0 {
			s.drop(c)
		}
		if c != nil {
			c.full = true
		}
		c = &spoolChunk{first: s.size}
		if s.chunks == nil {
			s.chunks = map[int64]*spoolChunk{}
		}
		s.chunks[c.first], s.last = c, c
	}
	if len(c.buf) > 0 && len(c.buf)+len(line) > spoolBuffer && s.scratch != nil {
		if err := s.spill(c); err != nil {
			return 0, err
		}
	}
	at = s.size
	c.buf = append(c.buf, line...)
	c.size += int64(len(line))
	c.live++
	s.size += int64(len(line))
	return at, nil
}

// spill writes what is in memory of a chunk. The lock is held.
func (s *spool) spill(c *spoolChunk) (err error) {
	if c.file == nil {
		if c.file, err = s.scratch(); err != nil {
			return err
		}
	}
	if _, err := c.file.Write(c.buf); err != nil {
		return fmt.Errorf("spill dead letters: %w", err)
	}
	c.buf = c.buf[:0]
	return nil
}

// take appends the line at a place to dst. Each line is taken once.
func (s *spool) take(dst []byte, at int64, n int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.find(at)
	if c == nil {
		return dst, fmt.Errorf("internal error in commit: no dead letter at %d of the spool", at)
	}
	inFile := int64(0)
	if c.file != nil {
		inFile = c.file.Size()
	}
	if off := at - c.first; off >= inFile {
		dst = append(dst, c.buf[off-inFile:off-inFile+int64(n)]...)
	} else {
		from := len(dst)
		dst = append(dst, make([]byte, n)...)
		if _, err := c.file.ReadAt(dst[from:], off); err != nil {
			return dst[:from], fmt.Errorf("read spilled dead letters: %w", err)
		}
	}
	if c.live--; c.live == 0 && c.full {
		s.drop(c)
	}
	return dst, nil
}

func (s *spool) find(at int64) *spoolChunk {
	for _, c := range s.chunks {
		if c.first <= at && at < c.first+c.size {
			return c
		}
	}
	return nil
}

func (s *spool) drop(c *spoolChunk) {
	delete(s.chunks, c.first)
	if c.file != nil {
		_ = c.file.Close() // it is unlinked: closing gives its space back
		c.file = nil
	}
	c.buf = nil
}
