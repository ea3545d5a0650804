package store

import (
	"fmt"
	"sync"
)

// Conn is what one client of the shared memory uses: slots whose bytes it was told of, and segments that it has mapped or registered. Whoever serves the
// client closes it when the connection ends, also when the client was killed. It is safe for concurrent use.
type Conn struct {
	s  *Shared
	mu struct {
		sync.Mutex
		pins   map[pin]int
		held   map[*segment]int
		closed bool
	}
}

type pin struct {
	seg  *segment
	slot int
}

// Connect starts the book-keeping for a client.
func (s *Shared) Connect() *Conn {
	c := &Conn{s: s}
	c.mu.pins, c.mu.held = map[pin]int{}, map[*segment]int{}
	return c
}

// Pin keeps the slot that b lies in, which is in use, for the client until Unpin or Close, and tells where b is.
func (c *Conn) Pin(b []byte) (Span, error) {
	at, ok := c.s.Locate(b)
	if !ok {
		return Span{}, fmt.Errorf("pin: %w", ErrNotShared)
	}
	return at, c.PinSpan(at)
}

// PinSpan is Pin for a place known by its span; it fails with ErrStale when the slot was given back meanwhile.
func (c *Conn) PinSpan(at Span) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return fmt.Errorf("pin: %w", ErrClosed)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	g, i, err := c.s.find(at)
	if err != nil {
		return fmt.Errorf("pin: %w", err)
	}
	g.slots[i].refs++
	c.mu.pins[pin{g, i}]++
	return nil
}

// Unpin ends one Pin of the slot. The error is ErrStale when the client has no pin there: a reply that came twice, or too late.
func (c *Conn) Unpin(at Span) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.mu.Lock()
	g, i, err := c.s.find(at)
	if err == nil && c.mu.pins[pin{g, i}] == 0 {
		err = ErrStale
	}
	if err != nil {
		c.s.mu.Unlock()
		return fmt.Errorf("unpin: %w", err)
	}
	p := pin{g, i}
	if c.mu.pins[p]--; c.mu.pins[p] == 0 {
		delete(c.mu.pins, p)
	}
	refund := c.s.drop(g, i)
	c.s.mu.Unlock()
	refund()
	return nil
}

// Hold keeps a segment as a whole, mapped and at its name, until Unhold or Close, and returns its size in bytes: for servers that are told of segments
// once and of places in them later.
func (c *Conn) Hold(segment string) (bytes int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return 0, fmt.Errorf("hold segment: %w", ErrClosed)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	g := c.s.mu.byName[segment]
	if g == nil {
		return 0, fmt.Errorf("hold segment: %w: no segment %s", ErrNotShared, segment)
	}
	g.holds++
	c.mu.held[g]++
	return int64(len(g.mem)), nil
}

// Unhold ends one Hold.
func (c *Conn) Unhold(segment string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	g := c.s.mu.byName[segment]
	if g == nil || c.mu.held[g] == 0 {
		return
	}
	if c.mu.held[g]--; c.mu.held[g] == 0 {
		delete(c.mu.held, g)
	}
	c.s.unhold(g, 1)
}

func (s *Shared) unhold(g *segment, n int) {
	g.holds -= n
	if s.mu.closed && g.idle() {
		s.remove(g)
	}
}

// Close ends all pins and holds. It may be called more than once.
func (c *Conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closed = true
	var refunds []func()
	c.s.mu.Lock()
	for p, n := range c.mu.pins {
		for range n {
			refunds = append(refunds, c.s.drop(p.seg, p.slot))
		}
	}
	for g, n := range c.mu.held {
		c.s.unhold(g, n)
	}
	clear(c.mu.pins)
	clear(c.mu.held)
	c.s.mu.Unlock()
	for _, f := range refunds {
		f()
	}
}
