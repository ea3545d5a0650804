package read

import (
	"errors"
	"fmt"
	"io"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// maxHeader bounds a page header; statistics of long values make them large.
const maxHeader = 16 << 20

// source is a window on the bytes of one column chunk.
type source struct {
	r      io.ReaderAt
	off    int64 // file offset of the end of the window
	end    int64 // file offset of the end of the chunk
	window int   // bytes to read at once
	buf    scratch
	have   int // valid bytes of buf
	pos    int // first byte not consumed
}

func (s *source) left() int64 { return s.end - s.off + int64(s.have-s.pos) }

// peek returns up to n bytes, fewer only at the end of the chunk. They are
// valid until the next call.
func (s *source) peek(n int) ([]byte, error) {
	if s.have-s.pos >= n || s.off == s.end {
		return s.buf.b[s.pos:min(s.pos+n, s.have)], nil
	}
	live := s.have - s.pos
	copy(s.buf.b, s.buf.b[s.pos:s.have])
	s.pos, s.have = 0, live
	want := int(min(int64(max(n-live, s.window-live)), s.end-s.off))
	b := s.buf.grow(live+want, live)
	got, err := s.r.ReadAt(b[live:], s.off)
	s.off += int64(got)
	s.have += got
	if got < want {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("read %d bytes at %d: got %d: %w", want, s.off-int64(got), got, err)
	}
	return s.buf.b[:min(n, s.have)], nil
}

// take consumes exactly n bytes.
func (s *source) take(n int) ([]byte, error) {
	if int64(n) > s.left() {
		return nil, fmt.Errorf("page of %d bytes with %d left in the column chunk: %w", n, s.left(), io.ErrUnexpectedEOF)
	}
	b, err := s.peek(n)
	if err != nil {
		return nil, err
	}
	s.pos += n
	return b, nil
}

// discard consumes n bytes without reading what lies past the window.
func (s *source) discard(n int) error {
	if int64(n) > s.left() {
		return fmt.Errorf("page of %d bytes with %d left in the column chunk: %w", n, s.left(), io.ErrUnexpectedEOF)
	}
	if in := s.have - s.pos; n > in {
		s.off += int64(n - in)
		s.pos, s.have = 0, 0
		return nil
	}
	s.pos += n
	return nil
}

// header parses the next page header. io.EOF says that the chunk is over.
func (s *source) header(h *meta.PageHeader) error {
	for n := 512; ; n *= 8 {
		b, err := s.peek(n)
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return io.EOF
		}
		size, err := meta.ParsePageHeader(b, h)
		if err == nil {
			s.pos += size
			return nil
		}
		if !errors.Is(err, meta.ErrShortHeader) || len(b) < n || n > maxHeader {
			return fmt.Errorf("read page header: %w", err)
		}
	}
}
