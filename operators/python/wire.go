package python

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/sluice-data/sluice/operators/internal/child"
)

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
	in, out child.Place
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
	p = le.AppendUint16(p, uint16(len(c.in.Path)))
	p = le.AppendUint16(p, uint16(len(c.out.Path)))
	for _, n := range []int64{c.in.At, c.in.N, c.out.At, c.out.N} {
		p = le.AppendUint64(p, uint64(n))
	}
	return append(append(p, c.in.Path...), c.out.Path...)
}

// roomReply answers a host that needs more room for what its function returned.
type roomReply struct {
	Out  *child.Place `json:"out,omitempty"`
	Full string       `json:"full,omitempty"`
}

// reply is a message of the host.
type reply struct {
	Op string `json:"op"`
	// started
	Python  string `json:"python"`
	Pyarrow string `json:"pyarrow"`
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
