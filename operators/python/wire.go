package python

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"time"
)

// place is where bytes lie in shared memory: the path of a segment, offset, length. It crosses as a list.
type place struct {
	path   string
	at, n  int64
	filled bool
}

// MarshalJSON implements json.Marshaler.
func (p place) MarshalJSON() ([]byte, error) {
	if !p.filled {
		return []byte("null"), nil
	}
	return json.Marshal([]any{p.path, p.at, p.n})
}

// request is a message to the host; Op says which of the others count.
type request struct {
	Op          string   `json:"op"`
	Target      string   `json:"target,omitempty"`
	Path        []string `json:"path"`
	Schema      string   `json:"schema,omitempty"`
	Give        string   `json:"in,omitempty"`
	Get         string   `json:"out,omitempty"`
	Args        Args     `json:"args"`
	Takes       string   `json:"takes"`
	Concurrency int      `json:"concurrency"`
	Threads     int      `json:"threads"`
}

// callRequest asks for a call on a batch. It is packed, as the host's CALL is.
type callRequest struct {
	in, out place
	stream  bool
}

// append packs the message.
func (c *callRequest) append(p []byte) []byte {
	stream := byte(0)
	if c.stream {
		stream = 1
	}
	le := binary.LittleEndian
	p = append(p, 'C', stream)
	p = le.AppendUint16(p, uint16(len(c.in.path)))
	p = le.AppendUint16(p, uint16(len(c.out.path)))
	for _, n := range []int64{c.in.at, c.in.n, c.out.at, c.out.n} {
		p = le.AppendUint64(p, uint64(n))
	}
	return append(append(p, c.in.path...), c.out.path...)
}

// roomReply answers a host that needs more room for what its function returned.
type roomReply struct {
	Out  place  `json:"out"`
	Full string `json:"full,omitempty"`
}

// reply is a message of the host.
type reply struct {
	Op string `json:"op"`
	// failed
	Text      string `json:"text"`
	Class     string `json:"name"`
	Traceback string `json:"traceback"`
	Mistake   bool   `json:"mistake"`
	Kept      bool   `json:"kept"`
	// tracebacks
	Tracebacks []string `json:"tracebacks"`
	// room, done
	Len int64 `json:"len"`
	// done, which is packed
	done
}

// done is what the host's DONE says of a call.
type done struct {
	rows                            int
	passed                          [][2]int // column returned, column of the input that it is
	parents, errors, written, whole bool
}

const (
	doneBytes = 20
	pairBytes = 4
)

// unpack reads a DONE.
func (r *reply) unpack(p []byte) error {
	if len(p) < doneBytes {
		return fmt.Errorf("%d bytes: %w", len(p), io.ErrUnexpectedEOF)
	}
	le := binary.LittleEndian
	flags, n := p[1], int(le.Uint16(p[2:]))
	r.Op, r.Kept = "done", flags&8 != 0
	r.parents, r.errors, r.written, r.whole = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&16 != 0
	rows := int64(le.Uint64(p[4:]))
	r.Len = int64(le.Uint64(p[12:]))
	p = p[doneBytes:]
	if len(p) != n*pairBytes || rows < 0 || rows > math.MaxInt32 {
		return fmt.Errorf("%d columns in %d bytes, %d rows", n, len(p), rows)
	}
	r.rows = int(rows)
	for ; len(p) > 0; p = p[pairBytes:] {
		r.passed = append(r.passed, [2]int{int(le.Uint16(p)), int(le.Uint16(p[2:]))})
	}
	return nil
}

func (r *reply) base() *reply { return r }

// answer is anything that embeds a reply.
type answer interface{ base() *reply }

// raised is an exception of the function: about rows, unless it is a mistake in the program.
type raised struct {
	text, class, traceback string
}

// Error implements error.
func (e *raised) Error() string { return e.text }

// Class implements dataset.Classed.
func (e *raised) Class() string { return e.class }

// mistake is something that no function may do, whatever the rows: the run cannot go on.
type mistake struct{ text, traceback string }

// Error implements error.
func (e *mistake) Error() string { return e.text }

func (r *reply) failure() error {
	if r.Mistake {
		return &mistake{r.Text, r.Traceback}
	}
	return &raised{r.Text, r.Class, r.Traceback}
}

// maxMessage bounds a message of the host.
const maxMessage = 64 << 20

// tick is how often a wait looks at the process.
const tick = 100 * time.Millisecond

// wire is the control connection to a process. It is used by one goroutine at a time.
type wire struct {
	conn  *net.UnixConn
	buf   [16 << 10]byte
	in    []byte // received and not taken
	out   []byte
	until time.Time // when the wait that is set ends
}

// send writes one message, which is packed or becomes JSON.
func (w *wire) send(msg any) error {
	if c, ok := msg.(*callRequest); ok {
		w.out = c.append(append(w.out[:0], 0, 0, 0, 0))
		return w.flush()
	}
	body, err := json.Marshal(msg)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return w.sendRaw(body)
}

func (w *wire) sendRaw(body []byte) error {
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
