package commit

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/dataset"
)

// TestDoneSet compares the set with a table of all positions.
func TestDoneSet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const files, positions = 7, 12
		var set doneSet
		var want [files][positions]bool
		for range rapid.IntRange(0, 60).Draw(rt, "n") {
			o := rapid.Uint64Range(0, files-1).Draw(rt, "file")
			n := doneSpan{ordinal: o, files: 1, first: rapid.Uint64Range(0, positions-1).Draw(rt, "first")}
			n.end = n.first + rapid.Uint64Range(0, positions-n.first).Draw(rt, "len")
			if rapid.IntRange(0, 3).Draw(rt, "whole") == 0 {
				n.first, n.end = 0, wholeFile
			}
			set.add(n)
			for p := n.first; p < min(n.end, positions); p++ {
				want[o][p] = true
			}
		}
		set.seal()
		for o := range uint64(files) {
			done := set.of(o, nil)
			first, end := rapid.Uint64Range(0, positions).Draw(rt, "from"), rapid.Uint64Range(0, positions).Draw(rt, "to")
			all, firstGap := true, end
			for p := uint64(0); p < positions; p++ {
				if holds(done, p) != want[o][p] {
					rt.Fatalf("file %d, position %d: %t, want %t; set %v", o, p, !want[o][p], want[o][p], set.list)
				}
				if p >= first && p < end && !want[o][p] {
					all, firstGap = false, min(firstGap, p)
				}
			}
			if covers(done, first, end) != all || set.covers(o, first, end) != all {
				rt.Fatalf("file %d covers [%d, %d): want %t", o, first, end, all)
			}
			if first < end && firstMissing(done, first, end) != firstGap {
				rt.Fatalf("file %d, first missing of [%d, %d): %d, want %d", o, first, end, firstMissing(done, first, end), firstGap)
			}
			left := map[uint64]bool{}
			missing(done, first, end, func(a, b uint64) {
				for p := a; p < b; p++ {
					left[p] = true
				}
			})
			for p := first; p < end; p++ {
				if left[p] == want[o][p] {
					rt.Fatalf("file %d: position %d is missing: %t", o, p, left[p])
				}
			}
			if first < end && touches(done, first, end-1) == (len(left) == int(end-first)) {
				rt.Fatalf("file %d touches [%d, %d): %t", o, first, end, touches(done, first, end-1))
			}
		}
	})
}

func TestIntersect(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) (out []Interval) {
			at := uint64(0)
			for range rapid.IntRange(0, 5).Draw(rt, name) {
				at += rapid.Uint64Range(1, 4).Draw(rt, "gap")
				n := rapid.Uint64Range(1, 4).Draw(rt, "len")
				out = append(out, Interval{at, at + n})
				at += n
			}
			return out
		}
		a, b := draw("a"), draw("b")
		both := intersect(a, b)
		for p := range uint64(50) {
			if holds(both, p) != (holds(a, p) && holds(b, p)) {
				rt.Fatalf("position %d of %v and %v: %v", p, a, b, both)
			}
		}
	})
}

// journalOf writes the log of a run that journaled n splits of one small file each and committed all but the last hundred, the
// generations a little out of order.
func journalOf(tb testing.TB, s dataset.Storage, n int) {
	tb.Helper()
	ctx := context.Background()
	l, err := openRunLog(ctx, s, "r1", 1, 0, logPoint{})
	if err != nil {
		tb.Fatal(err)
	}
	must := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	g := &generationRecord{Generations: []uint64{1}}
	for i := range n {
		size := 140_000 + int64(i*7919%50_000)
		split := dataset.Split{Bytes: size, Ranges: []dataset.SplitRange{{End: uint64(size), File: dataset.FileRef{
			Path: fmt.Sprintf("/data/events/2026/%04d/part-%08d.jsonl", i/6000, i), Size: size, ModTime: time.Unix(1_700_000_000+int64(i)*37, 0)}}}}
		must(l.split(0, &split, []uint64{uint64(i)}))
		if j := i ^ 5; j < n-100 {
			g.done.add(span{ordinal: uint64(j), files: 1, end: uint64(140_000 + int64(j*7919%50_000))})
		}
		if i%20_000 == 19_999 || i == n-1 {
			raw, err := g.encode()
			must(err)
			must(l.append(kindGeneration, raw))
			must(l.sync(ctx))
			g = &generationRecord{Generations: []uint64{uint64(i)}}
		}
	}
	must(l.close())
}

// TestLongJournal keeps the promises about long journals, scaled down: with SLUICE_CHAOS it is a million and ten million splits, which must come to
// the first one that is left within five seconds, in 200 MB, from a log of 500 MB.
func TestLongJournal(t *testing.T) {
	sizes := []int{200_000}
	if os.Getenv("SLUICE_CHAOS") != "" {
		sizes = []int{1_000_000, 10_000_000}
	}
	for _, n := range sizes {
		longJournal(t, n)
	}
}

func longJournal(t *testing.T, n int) {
	t.Helper()
	s := dirStorage{t.TempDir()}
	journalOf(t, s, n)
	runtime.GC()
	begun := time.Now()
	p, err := loadLog(t.Context(), s, "r1")
	if err != nil {
		t.Fatal(err)
	}
	loaded := time.Since(begun)
	m := &Manager{past: p, store: s, done: map[uint32]*doneSet{}, cfg: Config{Run: "r1"}}
	for id, src := range p.sources {
		m.done[id] = &src.done
	}
	m.mu.shift = map[uint32]uint64{}
	f, err := NewFeed(0, []*Manager{m}, false)
	if err != nil {
		t.Fatal(err)
	}
	first, left := time.Duration(0), 0
	if _, err := f.replay(t.Context(), func(dataset.Split, error) bool {
		if left++; left == 1 {
			first = time.Since(begun)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	var bytes int64
	names, _ := s.List(t.Context(), "r1/log")
	for _, name := range names {
		data, err := s.Read(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		bytes += int64(len(data))
	}
	if left < 100 || left > 110 {
		t.Errorf("%d splits are left, want those of the last 100 files", left)
	}
	if k := len(p.sources[0].done.list); k > 8 {
		t.Errorf("%d intervals for a set with one gap", k)
	}
	per := float64(bytes) / float64(n)
	if per > 50 {
		t.Errorf("%.1f bytes of log a split, want at most 50", per)
	}
	t.Logf("%d splits: %.1f bytes of log each, loaded in %s, first split after %s, peak RSS %d MB", n, per, loaded, first, peakRSS()>>20)
}
