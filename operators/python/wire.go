package python

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// UnmarshalJSON implements json.Unmarshaler.
func (p *place) UnmarshalJSON(data []byte) error {
	list := []any{&p.path, &p.at, &p.n}
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	p.filled = true
	return nil
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

// callRequest asks for a call on a batch.
type callRequest struct {
	Op     string `json:"op"`
	In     place  `json:"in"`
	Stream bool   `json:"stream"`
	Out    place  `json:"out"`
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
	// room and done
	Len int64 `json:"len"`
	// done
	Rows       int      `json:"rows"`
	Passed     [][2]int `json:"passed"`
	Parents    bool     `json:"parents"`
	Errors     bool     `json:"errors"`
	Out        place    `json:"out"`
	Kept       bool     `json:"kept"`
	Tracebacks []string `json:"tracebacks"`
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
	conn *net.UnixConn
	buf  [16 << 10]byte
	in   []byte // received and not taken
}

// send writes one message.
func (w *wire) send(msg any) error {
	body, err := json.Marshal(msg)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return w.sendRaw(body)
}

func (w *wire) sendRaw(body []byte) error {
	p := append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
	if err := w.conn.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	_, err := w.conn.Write(p)
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
		if err := w.conn.SetReadDeadline(time.Now().Add(tick)); err != nil {
			return nil, err
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
