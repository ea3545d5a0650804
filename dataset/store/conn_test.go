package store

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/dataset/block"
)

func TestPins(t *testing.T) {
	var acct account
	s := open(t, SharedConfig{})
	a := s.Allocator(block.NewAllocator(block.NewPool(1<<30), &acct))
	c := s.Connect()
	b := a.Allocate(2000)
	at, err := c.Pin(b[100:200])
	if err != nil {
		t.Fatal(err)
	}
	a.Free(b)
	if acct.n.Load() == 0 {
		t.Error("a pinned slot is not charged any more")
	}
	if _, err := s.Resolve(at); err != nil {
		t.Errorf("a pinned span: %v", err)
	}
	if err := c.Unpin(at); err != nil {
		t.Error(err)
	}
	if err := c.Unpin(at); !errors.Is(err, ErrStale) {
		t.Errorf("a second Unpin: %v", err)
	}
	if acct.n.Load() != 0 {
		t.Errorf("%d bytes stay charged", acct.n.Load())
	}
	if err := c.PinSpan(at); !errors.Is(err, ErrStale) {
		t.Errorf("a pin of what was given back: %v", err)
	}
	if _, err := c.Pin(make([]byte, 5)); !errors.Is(err, ErrNotShared) {
		t.Errorf("a pin of the heap: %v", err)
	}
}

func TestUnpinOfAnother(t *testing.T) {
	s := open(t, SharedConfig{})
	one, two := s.Connect(), s.Connect()
	b := alloc(t, s, 10)
	at, err := one.Pin(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Unpin(at); !errors.Is(err, ErrStale) {
		t.Errorf("a client unpinned what another holds: %v", err)
	}
	s.Free(b)
	if _, err := s.Resolve(at); err != nil {
		t.Errorf("the pin is lost: %v", err)
	}
	one.Close()
	one.Close()
	two.Close()
	if st := s.Stats(); st.InUseBytes != 0 {
		t.Errorf("stats are %+v", st)
	}
	if _, err := one.Pin(b); !errors.Is(err, ErrNotShared) && !errors.Is(err, ErrClosed) {
		t.Errorf("a pin on a closed connection: %v", err)
	}
}

func TestHeldSegmentsStay(t *testing.T) {
	s := open(t, SharedConfig{Limit: 2 << 20})
	c := s.Connect()
	b := alloc(t, s, 100<<10)
	at, _ := s.Locate(b)
	n, err := c.Hold(at.Segment)
	if err != nil || n != s.Stats().MappedBytes {
		t.Fatalf("held %d bytes, %v", n, err)
	}
	s.Free(b)
	s.Trim()
	if st := s.Stats(); st.Segments != 1 {
		t.Error("a held segment was removed")
	}
	if _, err := s.Alloc(1900 << 10); !errors.Is(err, ErrFull) {
		t.Errorf("room was made beside a held segment: %v", err)
	}
	c.Unhold(at.Segment)
	c.Unhold(at.Segment)
	s.Trim()
	if st := s.Stats(); st.Segments != 0 {
		t.Error("a segment stays that nobody holds")
	}
	if _, err := c.Hold(at.Segment); !errors.Is(err, ErrNotShared) {
		t.Errorf("hold of nothing: %v", err)
	}
	c.Close()
}

// TestModel drives the store at random and compares it with plain book-keeping: no two live buffers overlap, each stays as it was written until its last
// user is gone, and what is charged is what is in use.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var acct account
		s, err := OpenShared(SharedConfig{Dir: tempDir(t), Limit: 6 << 20})
		if err != nil {
			t.Fatal(err)
		}
		a := s.Allocator(block.NewAllocator(block.NewPool(1<<30), &acct))
		conns := []*Conn{s.Connect(), s.Connect()}
		type live struct {
			b    []byte
			mark byte
			own  bool
			pins [2][]Span
		}
		var all []*live
		check := func() {
			for _, l := range all {
				for _, x := range l.b {
					if x != l.mark {
						t.Fatalf("a buffer of %d bytes was written by somebody else", len(l.b))
					}
				}
			}
		}
		drop := func(i int) {
			if l := all[i]; !l.own && len(l.pins[0])+len(l.pins[1]) == 0 {
				all = append(all[:i], all[i+1:]...)
			}
		}
		mark := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { check() },
			"alloc": func(t *rapid.T) {
				n := rapid.SampledFrom([]int{1, 300, 5000, 70000, 400000}).Draw(t, "n")
				mark++
				b := a.Allocate(n)
				for i := range b {
					b[i] = mark
				}
				all = append(all, &live{b: b, mark: mark, own: true})
			},
			"free": func(t *rapid.T) {
				i := pick(t, all)
				if !all[i].own {
					t.Skip("freed")
				}
				a.Free(all[i].b)
				all[i].own = false
				drop(i)
			},
			"pin": func(t *rapid.T) {
				i, k := pick(t, all), rapid.IntRange(0, 1).Draw(t, "conn")
				at, err := conns[k].Pin(all[i].b)
				if s.Owns(all[i].b) != (err == nil) {
					t.Fatal(err)
				}
				if err == nil {
					all[i].pins[k] = append(all[i].pins[k], at)
				}
			},
			"unpin": func(t *rapid.T) {
				i, k := pick(t, all), rapid.IntRange(0, 1).Draw(t, "conn")
				p := all[i].pins[k]
				if len(p) == 0 {
					t.Skip("no pin")
				}
				if err := conns[k].Unpin(p[0]); err != nil {
					t.Fatal(err)
				}
				all[i].pins[k] = p[1:]
				drop(i)
			},
			"crash": func(t *rapid.T) {
				k := rapid.IntRange(0, 1).Draw(t, "conn")
				conns[k].Close()
				conns[k] = s.Connect()
				for i := len(all) - 1; i >= 0; i-- {
					all[i].pins[k] = nil
					drop(i)
				}
			},
			"trim": func(*rapid.T) { s.Trim() },
		})
		check()
		for _, c := range conns {
			c.Close()
		}
		for _, l := range all {
			if l.own {
				a.Free(l.b)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if st := s.Stats(); acct.n.Load() != 0 || st.InUseBytes != 0 || st.MappedBytes != 0 {
			t.Fatalf("%d bytes stay charged, %+v", acct.n.Load(), st)
		}
	})
}

func pick[T any](t *rapid.T, all []T) int {
	if len(all) == 0 {
		t.Skip("nothing is live")
	}
	return rapid.IntRange(0, len(all)-1).Draw(t, "which")
}
