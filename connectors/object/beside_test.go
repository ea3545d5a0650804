package object

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// TestBeside: parts that were announced, however they lie, are read side by side as the bytes that they are, each is asked for once, and nothing of the
// budget is kept. Reads of what was not announced go on beside it.
func TestBeside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &memFile{data: noise(rapid.IntRange(1, 40_000).Draw(t, "size"))}
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		cfg := testConfig()
		cfg.AheadBytes, cfg.Ranges = int64(rapid.IntRange(0, 20_000).Draw(t, "budget")), rapid.IntRange(1, 6).Draw(t, "ranges")
		h := m.open(context.Background(), cfg)
		size := int64(len(m.data))
		var parts []file.Part
		for at := int64(0); at < size; {
			n := min(1+rnd.Int64N(5000), size-at)
			if rnd.IntN(4) > 0 {
				parts = append(parts, file.Part{Off: at, Len: n, Turn: rnd.IntN(3)})
			}
			at += n
		}
		rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		h.Announce(parts)
		var wg sync.WaitGroup
		for _, p := range parts {
			step := 1 + rnd.Int64N(3000)
			wg.Go(func() {
				for at := p.Off; at < p.Off+p.Len; {
					buf := make([]byte, min(step, p.Off+p.Len-at))
					n, err := h.ReadAt(buf, at)
					if n != len(buf) || err != nil && err != io.EOF || !bytes.Equal(buf, m.data[at:at+int64(n)]) {
						t.Errorf("%d bytes at %d: %d, %v", len(buf), at, n, err)
						return
					}
					at += int64(n)
				}
			})
		}
		wg.Wait()
		announced := int64(0)
		for _, p := range parts {
			announced += p.Len
		}
		if asked := m.bytes.Load(); asked > size || asked < announced {
			t.Errorf("%d bytes were asked for, of %d announced and %d in all", asked, announced, size)
		}
		buf := make([]byte, size)
		if _, err := h.ReadAt(buf, 0); err != nil || !bytes.Equal(buf, m.data) {
			t.Errorf("the whole file afterwards: %v", err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if n := h.budget.used.Load(); n != 0 {
			t.Errorf("%d bytes of the budget are kept", n)
		}
	})
}

// TestBesideAtOnce: the configured number of requests is under way before anything is read, the turns come in order, and what was announced is forgotten
// when something else is.
func TestBesideAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memFile{data: noise(64 << 10), delay: time.Second}
		cfg := testConfig()
		cfg.Ranges = 8
		h := m.open(t.Context(), cfg)
		var parts []file.Part
		for i := range 8 { // two row groups of four columns
			parts = append(parts, file.Part{Off: int64(i) << 13, Len: 8 << 10, Turn: i / 4})
		}
		h.Announce(parts)
		synctest.Wait()
		if n := m.live.Load(); n != 8 {
			t.Errorf("%d requests are under way, want 8", n)
		}
		begin := time.Now()
		buf := make([]byte, 32<<10)
		if _, err := h.ReadAt(buf, 0); err != nil || !bytes.Equal(buf, m.data[:len(buf)]) {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 4*time.Second { // 32 ranges of 1 KiB, 8 at a time
			t.Errorf("the first turn took %s", took)
		}
		h.Announce(nil)
		before := m.bytes.Load()
		<-time.After(10 * time.Second)
		if n := m.bytes.Load(); n != before {
			t.Errorf("%d bytes were asked for in vain", n-before)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestPieces: small neighbours share a request, big parts are cut, parts that overlap are left to be read as they are asked for.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		parts []file.Part
		want  [][2]int64
	}{
		{[]file.Part{{Off: 4, Len: 100}, {Off: 104, Len: 50}, {Off: 200, Len: 10}}, [][2]int64{{4, 206}}},
		{[]file.Part{{Off: 0, Len: 2500}, {Off: 2500, Len: 10}}, [][2]int64{{0, 833}, {833, 833}, {1666, 834}, {2500, 10}}},
		{[]file.Part{{Off: 0, Len: 10}, {Off: 5, Len: 10}, {Off: 20, Len: 0}}, [][2]int64{{0, 10}}},
		{[]file.Part{{Off: 0, Len: 10}, {Off: 10, Len: 10, Turn: 1}}, [][2]int64{{0, 10}, {10, 10}}},
		{[]file.Part{{Off: 0, Len: 10}, {Off: joinGap + 11, Len: 10}}, [][2]int64{{0, 10}, {joinGap + 11, 10}}},
	} {
		var got [][2]int64
		for _, p := range pieces(c.parts, 1000) {
			got = append(got, [2]int64{p.off, p.size})
		}
		if len(got) != len(c.want) {
			t.Errorf("%v: %v, want %v", c.parts, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%v: %v, want %v", c.parts, got, c.want)
			}
		}
	}
}

// manyFiles is a place of small files.
type manyFiles map[string]*memFile

func (m manyFiles) open(cfg Config, b *budget) opener {
	return func(ctx context.Context, ref dataset.FileRef) (*handle, error) {
		f := m[ref.Path]
		if f == nil {
			return nil, errors.New("it is elsewhere")
		}
		return newHandle(ctx, cfg, ref, f, b), nil
	}
}

// TestWholes: of a reading of many small files the configured number is under way at once, each is asked for once, also if it is opened twice, and the
// memory that they take is counted and given back.
func TestWholes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Files = 5
		b := newBudget(func() (Config, error) { return cfg, nil })
		place := manyFiles{}
		used := int64(0)
		reading := &dataset.Reading{Memory: 1 << 20, Charge: func(n int64) func() { used += n; return func() { used -= n } }}
		for i := range 20 {
			name := string(rune('a' + i))
			f := &memFile{data: noise(100 + i), delay: time.Second}
			if i == 7 { // of another place
				reading.Ranges = append(reading.Ranges, dataset.SplitRange{File: dataset.FileRef{Path: "x", Size: 10}})
				continue
			}
			place[name] = f
			reading.Ranges = append(reading.Ranges, dataset.SplitRange{File: dataset.FileRef{Path: name, Size: int64(len(f.data)), ETag: "1"}})
		}
		open := place.open(cfg, b)
		ctx := dataset.WithReading(t.Context(), reading)
		begin := time.Now()
		for i, r := range reading.Ranges {
			if i == 7 {
				continue
			}
			for range 2 {
				h, err := open(ctx, r.File)
				if err != nil {
					t.Fatal(err)
				}
				w := whole(h, "place", open)
				got := make([]byte, r.File.Size)
				if n, err := w.ReadAt(got, 0); n != len(got) || err != nil || !bytes.Equal(got, place[r.File.Path].data) {
					t.Fatalf("%s: %d, %v", r.File.Path, n, err)
				}
				if _, err := w.ReadAt(got, r.File.Size); err != io.EOF {
					t.Errorf("behind the end: %v", err)
				}
			}
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("19 files, 5 at once, took %s", took)
		}
		for name, f := range place {
			if n := f.requests.Load(); n != 1 {
				t.Errorf("%s was asked for %d times", name, n)
			}
		}
		if used == 0 {
			t.Error("no memory was counted")
		}
		reading.Close()
		if used != 0 || b.used.Load() != 0 {
			t.Errorf("%d and %d bytes are kept", used, b.used.Load())
		}
	})
}

// TestWholesBudget: a run with little memory fetches no more ahead than its share, and still reads every file.
func TestWholesBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Files = 50
		b := newBudget(func() (Config, error) { return cfg, nil })
		place := manyFiles{}
		reading := &dataset.Reading{Memory: 8 * 2500}
		for i := range 30 {
			name := string(rune('a' + i))
			place[name] = &memFile{data: noise(1000), delay: time.Second}
			reading.Ranges = append(reading.Ranges, dataset.SplitRange{File: dataset.FileRef{Path: name, Size: 1000}})
		}
		open := place.open(cfg, b)
		ctx := dataset.WithReading(t.Context(), reading)
		for _, r := range reading.Ranges {
			h, err := open(ctx, r.File)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := whole(h, 1, open).ReadAt(make([]byte, 1000), 0); n != 1000 || err != nil {
				t.Fatal(n, err)
			}
			if n := b.used.Load(); n > 2500 {
				t.Fatalf("%d bytes are ahead, the share is 2500", n)
			}
		}
		reading.Close()
	})
}
