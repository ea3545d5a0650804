package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/cenkalti/backoff/v5"
)

// SizeError says that a body is larger than allowed.
type SizeError struct{ Limit, Size int64 }

func (e *SizeError) Error() string {
	if e.Size > 0 {
		return fmt.Sprintf("it has %d bytes, more than max_bytes=%d", e.Size, e.Limit)
	}
	return fmt.Sprintf("it has more than max_bytes=%d", e.Limit)
}

// Class implements dataset.Classed.
func (*SizeError) Class() string { return "too large" }

const firstRoom = 64 << 10

// body reads an answer into room of the sink.
func (c *Client) body(ctx context.Context, resp *http.Response, sink Sink, ready func()) ([]byte, error) {
	size := resp.ContentLength
	if size > c.cfg.MaxBytes {
		return nil, backoff.Permanent(&SizeError{c.cfg.MaxBytes, size})
	}
	return read(ctx, resp.Body, size, c.cfg.MaxBytes, sink, ready)
}

// read fills room with all of r: size bytes, or as many as there are up to the limit where size is negative.
func read(ctx context.Context, r io.Reader, size, limit int64, sink Sink, ready func()) (out []byte, err error) {
	room := size
	if size < 0 {
		room = min(firstRoom, limit)
	}
	b, err := sink.Room(ctx, room)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	b = b[:room]
	defer func() {
		if err != nil {
			sink.Drop(b)
		}
	}()
	ready()
	n := int64(0)
	for {
		if n == room { // what Room and Grow gave may have a larger capacity, which belongs to the allocator
			if size >= 0 {
				return b[:n], atEnd(r, size)
			}
			if n >= limit {
				if atEnd(r, limit) != nil {
					return nil, backoff.Permanent(&SizeError{Limit: limit})
				}
				return b[:n], nil
			}
			room = min(2*n, limit)
			if b, err = sink.Grow(ctx, b[:n], room); err != nil {
				return nil, backoff.Permanent(err)
			}
		}
		k, err := r.Read(b[n:room])
		n += int64(k)
		switch {
		case errors.Is(err, io.EOF) && (size < 0 || n == size):
			return b[:n], nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("the connection ended after %d of %d bytes", n, size)
		case err != nil:
			return nil, err
		}
	}
}

// atEnd checks that nothing follows.
func atEnd(r io.Reader, size int64) error {
	var one [1]byte
	n, err := io.ReadFull(r, one[:])
	if n == 0 && errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil && n == 0 {
		return err
	}
	return fmt.Errorf("it has more than the %d bytes that were announced", size)
}
