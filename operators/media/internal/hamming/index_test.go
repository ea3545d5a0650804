package hamming

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// reference is the obvious search.
func reference(held []uint64, h uint64, distance int) (first int, exact bool) {
	first = -1
	for i, o := range held {
		d := bits.OnesCount64(o ^ h)
		exact = exact || d == 0
		if d <= distance && first < 0 {
			first = i
		}
	}
	return first, exact
}

// near makes hashes that lie close together, so that searches find something.
func near(r *rand.Rand, flips int) uint64 {
	centers := [...]uint64{0, ^uint64(0), 0x0123456789abcdef, 0xf0f0f0f00f0f0f0f}
	h := centers[r.IntN(len(centers))]
	for range r.IntN(flips + 1) {
		h ^= 1 << r.IntN(64)
	}
	return h
}

func TestIndexFindsWhatAScanFinds(t *testing.T) {
	for _, distance := range []int{0, 1, 3, 4, 6, 7, 8, 10, 12, 15, 16, 40, 64} {
		x := New(distance)
		r := rand.New(rand.NewPCG(1, uint64(distance)))
		var held []uint64
		for i := range 6000 {
			h := near(r, 2*distance+6)
			first, exact := x.First(h)
			if i%7 == 0 || i < 300 {
				if wf, we := reference(held, h, distance); first != wf || exact != we {
					t.Fatalf("distance %d, %d held, hash %016x: got %d %v, want %d %v", distance, len(held), h, first, exact, wf, we)
				}
			}
			if !exact {
				x.Add(h)
				held = append(held, h)
			}
		}
		if x.Len() != len(held) {
			t.Errorf("distance %d: holds %d, want %d", distance, x.Len(), len(held))
		}
	}
}

func TestIndexProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		distance := rapid.IntRange(0, 20).Draw(t, "distance")
		x := New(distance)
		var held []uint64
		for _, h := range rapid.SliceOfN(rapid.Uint64Max(1<<20), 0, 200).Draw(t, "hashes") {
			first, exact := x.First(h)
			if wf, we := reference(held, h, distance); first != wf || exact != we {
				t.Fatalf("hash %x: got %d %v, want %d %v", h, first, exact, wf, we)
			}
			if !exact {
				x.Add(h)
				held = append(held, h)
			}
		}
	})
}

func BenchmarkFirst(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x := New(6)
	for range 1_000_000 {
		x.Add(r.Uint64())
	}
	b.ReportAllocs()
	for b.Loop() {
		x.First(r.Uint64())
	}
	b.ReportMetric(float64(x.Bytes())/float64(x.Len()), "bytes/hash")
}
