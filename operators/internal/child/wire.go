package child

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// maxMessage bounds a message of a child.
const maxMessage = 64 << 20

// tick is how often a wait looks at the process.
const tick = 100 * time.Millisecond

// wire is the control connection to a process. One goroutine at a time sends, and one receives.
type wire struct {
	conn  *net.UnixConn
	buf   [16 << 10]byte
	in    []byte // received and not taken
	out   []byte
	until time.Time // when the wait that is set ends
}

// send writes one message.
func (w *wire) send(body []byte) error {
	w.out = append(append(w.out[:0], 0, 0, 0, 0), body...)
	return w.flush()
}

// flush writes the message in out, after its length. What does not fit the socket at once is given a minute.
func (w *wire) flush() (err error) {
	binary.LittleEndian.PutUint32(w.out, uint32(len(w.out)-4))
	if len(w.out) > len(w.buf) {
		if err := w.conn.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.conn.SetWriteDeadline(time.Time{})) }()
	}
	_, err = w.conn.Write(w.out)
	return err
}

// receive reads one message. It calls look every tick, and gives up with its error.
func (w *wire) receive(ctx context.Context, look func() error) ([]byte, error) {
	for {
		if body, ok, err := w.take(); ok || err != nil {
			return body, err
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if now := time.Now(); w.until.Sub(now) < tick/2 { // setting it costs more than to read
			w.until = now.Add(tick)
			if err := w.conn.SetReadDeadline(w.until); err != nil {
				return nil, err
			}
		}
		n, err := w.conn.Read(w.buf[:])
		w.in = append(w.in, w.buf[:n]...)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err := look(); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
}

// take takes a whole message out of what was received.
func (w *wire) take() (body []byte, ok bool, err error) {
	if len(w.in) < 4 {
		return nil, false, nil
	}
	n := int(binary.LittleEndian.Uint32(w.in))
	if n > maxMessage {
		return nil, false, fmt.Errorf("read message: %d bytes are above the limit of %d: %w", n, maxMessage, io.ErrUnexpectedEOF)
	}
	if len(w.in) < 4+n {
		return nil, false, nil
	}
	body = bytes.Clone(w.in[4 : 4+n])
	w.in = append(w.in[:0], w.in[4+n:]...)
	return body, true, nil
}
