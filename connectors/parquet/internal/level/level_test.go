package level

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"pgregory.net/rapid"
)

// TestRoundTrip writes runs and noise of every width and reads them back in
// pieces of every size.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.UintRange(0, 24).Draw(t, "width")
		var src []uint32
		for range rapid.IntRange(0, 12).Draw(t, "stretches") {
			v := rapid.Uint32Max(1<<width-1).Draw(t, "v")
			if rapid.Bool().Draw(t, "run") {
				src = append(src, slices.Repeat([]uint32{v}, rapid.IntRange(1, 100).Draw(t, "n"))...)
			} else {
				src = append(src, rapid.SliceOfN(rapid.Uint32Max(1<<width-1), 0, 40).Draw(t, "noise")...)
			}
		}
		enc := Append(nil, src, width)
		var d Decoder
		if err := d.Reset(enc, width); err != nil {
			t.Fatal(err)
		}
		got := make([]uint32, len(src))
		for i := 0; i < len(src); {
			n := min(rapid.IntRange(1, 70).Draw(t, "piece"), len(src)-i)
			if err := d.Uint32(got[i : i+n]); err != nil {
				t.Fatal(err)
			}
			i += n
		}
		if !slices.Equal(got, src) {
			t.Fatalf("width %d: got %v, want %v", width, got, src)
		}
	})
}

func TestBitmap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.SliceOfN(rapid.Uint32Max(1), 1, 300).Draw(t, "levels")
		off := rapid.IntRange(0, 9).Draw(t, "off")
		var d Decoder
		if err := d.Reset(Append(nil, levels, 1), 1); err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, bitutil.BytesForBits(int64(off+len(levels))))
		ones, err := d.Bitmap(dst, off, len(levels))
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for i, v := range levels {
			want += int(v)
			if bitutil.BitIsSet(dst, off+i) != (v == 1) {
				t.Fatalf("bit %d is wrong", i)
			}
		}
		if ones != want {
			t.Fatalf("counted %d ones, want %d", ones, want)
		}
		back := AppendBitmap(nil, dst, off, len(levels))
		if err := d.Reset(back, 1); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(levels))
		if err := d.Bytes(got); err != nil {
			t.Fatal(err)
		}
		for i, v := range levels {
			if got[i] != byte(v) {
				t.Fatalf("level %d is wrong after AppendBitmap", i)
			}
		}
	})
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte{3, 0xAA, 8, 1}, uint(1), 40)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, uint(5), 100)
	f.Fuzz(func(t *testing.T, b []byte, width uint, n int) {
		var d Decoder
		if n < 0 || n > 1<<16 || d.Reset(b, width) != nil {
			return
		}
		_ = d.Uint32(make([]uint32, n))
		if width == 1 {
			_ = d.Reset(b, width)
			_, _ = d.Bitmap(make([]byte, n/8+1), 0, n)
		}
	})
}
