package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sluice-data/sluice/dataset/block"
)

func open(tb testing.TB, cfg SharedConfig) *Shared {
	tb.Helper()
	if cfg.Dir == "" {
		cfg.Dir = tb.TempDir()
	}
	s, err := OpenShared(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		if st := s.Stats(); st.InUseBytes != 0 || st.MappedBytes != 0 {
			tb.Errorf("after Close: %+v", st)
		}
		if left, _ := os.ReadDir(cfg.Dir); len(left) != 0 {
			tb.Errorf("files are left: %v", left)
		}
	})
	return s
}

func alloc(tb testing.TB, s *Shared, n int) []byte {
	tb.Helper()
	b, err := s.Alloc(n)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// account counts what is charged.
type account struct{ n atomic.Int64 }

func (a *account) Charge(n int64) { a.n.Add(n) }
func (a *account) Refund(n int64) { a.n.Add(-n) }

func TestAllocSizes(t *testing.T) {
	s := open(t, SharedConfig{})
	for _, n := range []int{0, 1, 255, 256, 257, 4096, 65536, 65537, 602112, 12582912, 70 << 20} {
		b := alloc(t, s, n)
		if len(b) != n || cap(b) != ClassBytes(n) {
			t.Errorf("Alloc(%d) has length %d, capacity %d, want %d", n, len(b), cap(b), ClassBytes(n))
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) % 64; at != 0 {
			t.Errorf("Alloc(%d) is at %d modulo 64", n, at)
		}
		if n > 1024 && cap(b) > n+n/4 {
			t.Errorf("Alloc(%d) wastes %d bytes", n, cap(b)-n)
		}
		s.Free(b)
	}
	if _, err := s.Alloc(-1); err == nil {
		t.Error("a negative size was accepted")
	}
}

func TestAnotherMappingSeesTheBytes(t *testing.T) {
	s := open(t, SharedConfig{})
	b := alloc(t, s, 1000)
	for i := range b {
		b[i] = byte(i)
	}
	at, ok := s.Locate(b[10:900])
	if !ok {
		t.Fatal("the bytes are in no segment")
	}
	raw, err := os.ReadFile(filepath.Join(s.Dir(), at.Segment))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw[at.Offset:at.Offset+at.Len], b[10:900]) {
		t.Error("the file does not hold the bytes at the span")
	}
	same, err := s.Resolve(at)
	if err != nil || &same[0] != &b[10] || len(same) != 890 {
		t.Errorf("Resolve gives %d bytes, %v", len(same), err)
	}
	s.Free(b)
}

func TestGenerations(t *testing.T) {
	s := open(t, SharedConfig{})
	b := alloc(t, s, 5000)
	old, _ := s.Locate(b)
	s.Free(b)
	if _, ok := s.Locate(b); ok {
		t.Error("freed bytes are located")
	}
	if _, err := s.Resolve(old); !errors.Is(err, ErrStale) {
		t.Errorf("a freed span resolves: %v", err)
	}
	again := alloc(t, s, 5000)
	now, _ := s.Locate(again)
	if &again[0] != &b[0] || now.Generation != old.Generation+2 {
		t.Errorf("the slot was not recycled: generation %d after %d", now.Generation, old.Generation)
	}
	if _, err := s.Resolve(old); !errors.Is(err, ErrStale) {
		t.Errorf("a span of the last use resolves: %v", err)
	}
	s.Free(again)
	if st := s.Stats(); st.RecycledBytes == 0 || st.Segments != 1 {
		t.Errorf("stats are %+v", st)
	}
}

func TestSpansThatAreNone(t *testing.T) {
	s := open(t, SharedConfig{})
	b := alloc(t, s, 1000)
	defer s.Free(b)
	good, _ := s.Locate(b)
	for name, change := range map[string]func(*Span){
		"unknown segment": func(x *Span) { x.Segment = "../../etc/passwd" },
		"header":          func(x *Span) { x.Offset = 0 },
		"negative offset": func(x *Span) { x.Offset = -64 },
		"negative length": func(x *Span) { x.Len = -1 },
		"past the end":    func(x *Span) { x.Offset = 1 << 40 },
		"into the next":   func(x *Span) { x.Len = int64(cap(b)) + 1 },
		"overflow":        func(x *Span) { x.Len = 1<<63 - 1 },
	} {
		at := good
		change(&at)
		if _, err := s.Resolve(at); !errors.Is(err, ErrNotShared) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, x := range map[string][]byte{"nil": nil, "empty": {}, "heap": make([]byte, 10)} {
		if _, ok := s.Locate(x); ok {
			t.Errorf("%s is located", name)
		}
	}
}

func TestLimit(t *testing.T) {
	pool := block.NewPool(4 << 20)
	s := open(t, SharedConfig{Limit: 4 << 20, Pool: pool})
	var all [][]byte
	for {
		b, err := s.Alloc(100 << 10)
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	if st := s.Stats(); st.MappedBytes > 4<<20 || st.InUseBytes < 3<<20 {
		t.Errorf("stats when full are %+v", st)
	}
	for _, b := range all {
		s.Free(b)
	}
	big := alloc(t, s, 3<<20) // idle segments of the other class give way
	if st := s.Stats(); st.MappedBytes > 4<<20 {
		t.Errorf("%d bytes are mapped, the limit is %d", st.MappedBytes, 4<<20)
	}
	s.Free(big)
	s.Trim()
	if st := s.Stats(); st.MappedBytes != 0 {
		t.Errorf("after Trim: %+v", st)
	}
}

// TestNoSpace asks for more than the folder of shared memory has: the error comes at once, and nothing is left behind.
func TestNoSpace(t *testing.T) {
	_, free, err := spaceOf(DefaultDir())
	if err != nil || free > 1<<45 {
		t.Logf("the folder of shared memory has no limit to run into: %d, %v", free, err)
		return
	}
	s := open(t, SharedConfig{Dir: subDir(t, DefaultDir()), Limit: 1 << 50})
	if _, err := s.Alloc(int(free + free/2 + 1<<30)); !errors.Is(err, ErrFull) {
		t.Errorf("the error is %v", err)
	}
	if st := s.Stats(); st.MappedBytes != 0 {
		t.Errorf("stats are %+v", st)
	}
}

// subDir makes a folder for a test in another folder.
func subDir(t *testing.T, in string) string {
	t.Helper()
	dir, err := os.MkdirTemp(in, "store-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	return dir
}

func TestPoolGivesWay(t *testing.T) {
	pool := block.NewPool(8 << 20)
	heap := block.NewAllocator(pool, nil)
	heap.Free(heap.Allocate(6 << 20))
	if pool.Stats().IdleBytes == 0 {
		t.Fatal("the pool kept nothing")
	}
	s := open(t, SharedConfig{Pool: pool})
	b := alloc(t, s, 6<<20)
	if st := pool.Stats(); st.IdleBytes != 0 {
		t.Errorf("%d idle bytes of the heap stay beside %d shared ones", st.IdleBytes, s.Stats().MappedBytes)
	}
	s.Free(b)
}

func TestAllocator(t *testing.T) {
	var acct account
	base := block.NewAllocator(block.NewPool(1<<30), &acct)
	s := open(t, SharedConfig{Limit: 2 << 20})
	a := s.Allocator(base)
	b := a.Allocate(1000)
	if _, ok := s.Locate(b); !ok || acct.n.Load() != int64(ClassBytes(1000)) {
		t.Errorf("shared %v, charged %d", ok, acct.n.Load())
	}
	for i := range b {
		b[i] = 7
	}
	b = a.Reallocate(5000, b)
	if want := append(bytes.Repeat([]byte{7}, 1000), make([]byte, 4000)...); !bytes.Equal(b, want) {
		t.Error("growing lost bytes, or did not zero the rest")
	}
	a.Free(b)
	if c := a.Allocate(5000); !bytes.Equal(c, make([]byte, 5000)) {
		t.Error("a recycled buffer is not zeroed")
	} else {
		a.Free(c)
	}
	big := a.Allocate(8 << 20)
	if s.Owns(big) || a.MissedBytes() != 8<<20 || acct.n.Load() != int64(block.ClassBytes(8<<20)) {
		t.Errorf("what does not fit: shared %v, missed %d, charged %d", s.Owns(big), a.MissedBytes(), acct.n.Load())
	}
	a.Free(big)
	a.Free(a.Allocate(0))
	if acct.n.Load() != 0 {
		t.Errorf("%d bytes stay charged", acct.n.Load())
	}
}

func TestBuffersOutliveClose(t *testing.T) {
	var acct account
	s := open(t, SharedConfig{})
	a := s.Allocator(block.NewAllocator(block.NewPool(1<<30), &acct))
	b := a.Allocate(100 << 10)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b[0], b[len(b)-1] = 1, 2 // still mapped
	if _, err := s.Alloc(1); !errors.Is(err, ErrClosed) {
		t.Errorf("Alloc after Close: %v", err)
	}
	a.Free(b)
	if acct.n.Load() != 0 {
		t.Errorf("%d bytes stay charged", acct.n.Load())
	}
}

func TestConcurrentUse(t *testing.T) {
	s := open(t, SharedConfig{Limit: 64 << 20})
	var wg sync.WaitGroup
	for g := range byte(8) {
		wg.Go(func() {
			c := s.Connect()
			defer c.Close()
			for i := range 200 {
				b, err := s.Alloc(1000 + 977*i)
				if err != nil {
					t.Error(err)
					return
				}
				for k := range b {
					b[k] = g
				}
				at, err := c.Pin(b)
				if err != nil {
					t.Error(err)
				}
				s.Free(b)
				if got, err := s.Resolve(at); err != nil || bytes.Count(got, []byte{g}) != len(got) {
					t.Errorf("somebody else wrote into a pinned slot (%v)", err)
				}
				if err := c.Unpin(at); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkAlloc(b *testing.B) {
	s := open(b, SharedConfig{})
	for _, n := range []int{4 << 10, 602112, 12 << 20} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n))
			for b.Loop() {
				x, err := s.Alloc(n)
				if err != nil {
					b.Fatal(err)
				}
				s.Locate(x)
				s.Free(x)
			}
		})
	}
}

// TestIdle keeps no more than it was told of what nobody uses, whatever sizes were asked for, and never removes what is in use.
func TestIdle(t *testing.T) {
	const idle = 4 << 20
	s, err := OpenShared(SharedConfig{Dir: t.TempDir(), Limit: 1 << 30, Idle: idle})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	held, err := s.Alloc(3 << 20)
	if err != nil {
		t.Fatal(err)
	}
	held[0] = 7
	for n := 1 << 10; n < 20<<20; n = n*5/4 + 1 {
		b, err := s.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		s.Free(b)
		if st := s.Stats(); st.MappedBytes-st.InUseBytes > idle {
			t.Fatalf("after %d bytes, %d that nobody uses are kept, above %d", n, st.MappedBytes-st.InUseBytes, idle)
		}
	}
	if held[0] != 7 {
		t.Error("what was in use has changed")
	}
	s.Free(held)
}
