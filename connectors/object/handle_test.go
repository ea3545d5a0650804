package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// answer is an error of memory.
type answer struct {
	code    int
	pause   time.Duration
	changed bool
}

func (a answer) Error() string { return fmt.Sprintf("answer %d", a.code) }

// memFile is a remote file in memory, which fails as a test wants.
type memFile struct {
	data     []byte
	requests atomic.Int64
	bytes    atomic.Int64
	mu       sync.Mutex
	before   func() error    // of a request
	breaks   func(n int) int // after how many bytes of n the body ends; n: it does not
	delay    time.Duration   // of a request
	live     atomic.Int64    // requests under way
	most     atomic.Int64    // of those at once
}

var _ remote = (*memFile)(nil)

func (m *memFile) body(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	m.requests.Add(1)
	m.bytes.Add(n)
	if now := m.live.Add(1); now > m.most.Load() {
		m.most.Store(now)
	}
	defer m.live.Add(-1)
	if m.delay > 0 {
		select {
		case <-time.After(m.delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.before != nil {
		if err := m.before(); err != nil {
			return nil, err
		}
	}
	if off+n > int64(len(m.data)) {
		return nil, fmt.Errorf("bytes [%d, %d) of %d", off, off+n, len(m.data))
	}
	end := int(n)
	if m.breaks != nil {
		end = m.breaks(int(n))
	}
	return io.NopCloser(bytes.NewReader(m.data[off : off+int64(end)])), nil
}

func (m *memFile) judge(err error) (int, time.Duration, bool) {
	a, _ := errors.AsType[answer](err)
	return a.code, a.pause, a.changed
}

func (m *memFile) explain(off int64, err error) error {
	return fmt.Errorf("read mem from byte %d: %w", off, err)
}

func testConfig() Config {
	return Config{Ranges: 4, RangeBytes: 1 << 10, AheadBytes: 1 << 20, Patience: time.Minute, Stall: time.Minute}
}

func (m *memFile) open(ctx context.Context, cfg Config) *handle {
	get := func() (Config, error) { return cfg, nil }
	return newHandle(ctx, cfg, dataset.FileRef{Path: "mem", Size: int64(len(m.data)), ETag: "1"}, m, newBudget(get))
}

func noise(n int) []byte {
	out := make([]byte, n)
	rnd := rand.New(rand.NewPCG(uint64(n), 4))
	for i := range out {
		out[i] = byte(rnd.Uint32())
	}
	return out
}

// TestReadAt: whatever is read, announced and broken, in whatever order, the bytes are those of the file, and nothing of the budget is
// kept.
func TestReadAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &memFile{data: noise(rapid.IntRange(0, 20_000).Draw(t, "size"))}
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		m.breaks = func(n int) int {
			if rnd.IntN(3) == 0 {
				return 1 + rnd.IntN(n)
			}
			return n
		}
		cfg := testConfig()
		cfg.Patience = time.Hour
		cfg.AheadBytes = int64(rapid.IntRange(0, 5000).Draw(t, "budget"))
		h := m.open(context.Background(), cfg)
		defer func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if n := h.budget.used.Load(); n != 0 {
				t.Errorf("%d bytes of the budget are kept", n)
			}
		}()
		size := int64(len(m.data))
		at := int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "reads") {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				h.Sequential(at, rapid.Int64Range(0, size+10).Draw(t, "announced"))
			case 1:
				at = rapid.Int64Range(0, size+10).Draw(t, "at")
			}
			p := make([]byte, rapid.IntRange(0, 5000).Draw(t, "n"))
			n, err := h.ReadAt(p, at)
			want := m.data[min(at, size):min(at+int64(len(p)), size)]
			if !bytes.Equal(p[:n], want) {
				t.Fatalf("%d bytes at %d are wrong", len(p), at)
			}
			if (n < len(p) || at >= size) != (err == io.EOF) || err != nil && err != io.EOF {
				t.Fatalf("read %d of %d at %d of %d: %v", n, len(p), at, size, err)
			}
			at += int64(n)
		}
	})
}

// TestReadAhead: in order, the configured number of ranges is under way at once, nothing beyond what was announced is asked for, and
// the budget bounds what is read ahead.
func TestReadAhead(t *testing.T) {
	for _, c := range []struct {
		ahead    int64
		announce int64
		most     int64
	}{{1 << 20, 0, 4}, {1 << 20, 20 << 10, 4}, {0, 0, 1}} {
		synctest.Test(t, func(t *testing.T) {
			m := &memFile{data: noise(64 << 10), delay: time.Second}
			cfg := testConfig()
			cfg.AheadBytes = c.ahead
			h := m.open(t.Context(), cfg)
			h.Sequential(0, c.announce)
			end := int64(len(m.data))
			if c.announce > 0 {
				end = c.announce
			}
			got, err := io.ReadAll(io.NewSectionReader(h, 0, end))
			if err != nil || !bytes.Equal(got, m.data[:end]) {
				t.Fatal(len(got), err)
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			if n := m.bytes.Load(); n != end {
				t.Errorf("%d bytes were asked for, want %d", n, end)
			}
			if n := m.most.Load(); n != c.most {
				t.Errorf("%d ranges at once, want %d", n, c.most)
			}
		})
	}
}

// TestNoticesOrder: small reads one after the other become a few big requests also unannounced; scattered ones stay single.
func TestNoticesOrder(t *testing.T) {
	m := &memFile{data: noise(64 << 10)}
	h := m.open(t.Context(), testConfig())
	defer h.Close()
	for at := int64(0); at < 64<<10; at += 64 {
		if _, err := h.ReadAt(make([]byte, 64), at); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.requests.Load(); n > 70 {
		t.Errorf("%d requests for 1024 reads in order", n)
	}
	before := m.bytes.Load()
	for _, at := range []int64{9000, 100, 30_000, 5000} {
		if _, err := h.ReadAt(make([]byte, 10), at); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.bytes.Load() - before; n > 40 {
		t.Errorf("%d bytes were asked for by 4 scattered reads of 10", n)
	}
}

// TestWaits: throttling is waited out for as long as the store asks, and is told of once; giving up says how long it took.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memFile{data: noise(100)}
		tries := 0
		m.before = func() error {
			if tries++; tries <= 3 {
				return answer{code: 503, pause: 7 * time.Second}
			}
			return nil
		}
		var said []string
		h := m.open(dataset.WithNotices(t.Context(), func(text string) { said = append(said, text) }), testConfig())
		begin := time.Now()
		if _, err := h.ReadAt(make([]byte, 100), 0); err != nil {
			t.Fatal(err)
		}
		if len(said) != 1 || !strings.Contains(said[0], "attempt 2 failed") || !strings.Contains(said[0], "trying again for up to") {
			t.Errorf("said %q while it waited", said)
		}
		if took := time.Since(begin); took < 21*time.Second || took > 30*time.Second {
			t.Errorf("three pauses of 7 s took %s", took)
		}
		m.before = func() error { return answer{code: 429} }
		begin = time.Now()
		_, err := h.ReadAt(make([]byte, 100), 0)
		if took := time.Since(begin); err == nil || took > time.Minute || took < 20*time.Second {
			t.Errorf("given up after %s with %v", took, err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestErrors: what is not worth repeating is not repeated.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{answer{code: 403}, "answer 403"},
		{answer{code: 412, changed: true}, "changed while it was read"},
		{errors.New("no EC2 IMDS role found: credentials"), "credentials"},
	} {
		m := &memFile{data: noise(10), before: func() error { return c.err }}
		h := m.open(t.Context(), testConfig())
		_, err := h.ReadAt(make([]byte, 10), 0)
		if err == nil || !strings.Contains(err.Error(), c.want) || m.requests.Load() != 1 {
			t.Errorf("%v: %v after %d requests", c.err, err, m.requests.Load())
		}
		if a, _ := errors.AsType[answer](c.err); a.changed != errors.Is(err, file.ErrChanged) {
			t.Errorf("%v: %v", c.err, err)
		}
		h.Close()
	}
}

// TestCancel: a read ends with the cause of the context that the file was opened with.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		m := &memFile{data: noise(10_000), delay: time.Hour}
		h := m.open(ctx, testConfig())
		h.Sequential(0, 0)
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := h.ReadAt(make([]byte, 10), 0); !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
		if _, err := h.ReadAt(make([]byte, 10_000), 0); !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}
