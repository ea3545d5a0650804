package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Stdin is standard input of this process.
var Stdin = NewStream(os.Stdin)

// Stream is an input that can be read only once, whose start can be looked at before. It is safe for concurrent use.
type Stream struct {
	f  *os.File
	mu struct {
		sync.Mutex
		head   []byte
		end    bool
		paused bool
		taken  bool
	}
}

// NewStream makes a stream of a file, pipe or terminal.
func NewStream(f *os.File) *Stream { return &Stream{f: f} }

const (
	pollMillis = 100 // how often a wait for input looks whether the run was cancelled
	// peekMillis is how long a pause ends a look at the start: what has come by then has to do, so that a log that is being followed
	// is not held up until a whole sample of it was written.
	peekMillis = 1000
	// peekBytes is how much compressed input is looked at.
	peekBytes = 64 << 10
)

// Peek returns the first bytes of the stream without taking them: n, or fewer where the stream ends (whole) or pauses.
func (s *Stream) Peek(ctx context.Context, n int) (head []byte, whole bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	buf := make([]byte, 64<<10)
	for len(s.mu.head) < n && !s.mu.end && !s.mu.taken {
		if len(s.mu.head) > 0 {
			patience := peekMillis
			if s.mu.paused {
				patience = 0 // it was waited for once
			}
			ready, err := s.wait(ctx, patience)
			if err != nil {
				return nil, false, err
			}
			if !ready {
				s.mu.paused = true
				break
			}
		}
		k, err := s.read(ctx, buf)
		s.mu.head = append(s.mu.head, buf[:k]...)
		if err == io.EOF {
			s.mu.end = true
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	if len(s.mu.head) > n {
		return s.mu.head[:n], false, nil
	}
	return s.mu.head, s.mu.end, nil
}

// Open returns the whole stream, once. Reading ends with the cause of ctx when that is done.
func (s *Stream) Open(ctx context.Context) (io.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.taken {
		return nil, errors.New("read standard input: it was read already and cannot be read again; put it into a file")
	}
	s.mu.taken = true
	head := bytes.NewReader(s.mu.head)
	if s.mu.end {
		return head, nil
	}
	return io.MultiReader(head, &streamReader{s, ctx}), nil
}

type streamReader struct {
	s   *Stream
	ctx context.Context
}

func (r *streamReader) Read(p []byte) (int, error) { return r.s.read(r.ctx, p) }

// read waits for input in short steps, so that a cancelled run is not held up by an input that never comes.
func (s *Stream) read(ctx context.Context, p []byte) (int, error) {
	for {
		ready, err := s.wait(ctx, pollMillis)
		if err != nil {
			return 0, err
		}
		if ready {
			break
		}
	}
	n, err := s.f.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read standard input: %w", err)
	}
	return n, err
}

// Ready reports whether reading would give something at once: bytes, or the end.
func (s *Stream) Ready() bool {
	ready, err := s.wait(context.Background(), 0)
	return ready || err != nil
}

// wait waits for input, for so many milliseconds at most.
func (s *Stream) wait(ctx context.Context, millis int) (ready bool, err error) {
	fds := []unix.PollFd{{Fd: int32(s.f.Fd()), Events: unix.POLLIN}}
	for ; ; millis -= pollMillis {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		n, err := unix.Poll(fds, min(millis, pollMillis))
		if err != nil && err != unix.EINTR {
			return false, fmt.Errorf("read standard input: %w", err)
		}
		if n > 0 || millis <= pollMillis {
			return n > 0, nil
		}
	}
}

// sampleStdin peeks at standard input, decompressed as far as the peek goes.
func sampleStdin(ctx context.Context, n int) (head []byte, whole bool, err error) {
	raw, whole, err := Stdin.Peek(ctx, max(n, peekBytes))
	compression := compressionOf(raw)
	if err != nil {
		return nil, false, err
	}
	if compression == "" {
		return raw[:min(n, len(raw))], whole && len(raw) <= n, nil
	}
	z, err := Decompress(bytes.NewReader(raw), compression)
	if err != nil {
		return nil, false, fmt.Errorf("decompress standard input: %w", err)
	}
	head = make([]byte, n)
	k, err := io.ReadFull(z, head) // the peek cuts the compressed text anywhere: what came out so far is the sample
	return head[:k], whole && err != nil, z.Close()
}
