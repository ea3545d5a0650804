package gpu

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestStringsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "list")
		raw := PackStrings(nil, list)
		if len(raw) != PackedLen(list) {
			t.Fatalf("%d bytes, %d were promised", len(raw), PackedLen(list))
		}
		got, err := UnpackStrings(raw, int64(len(list)))
		if err != nil || !slices.EqualFunc(got, list, bytes.Equal) {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

func FuzzUnpackStrings(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 'a', 'b', 'c'}, int64(1))
	f.Add([]byte{255, 255, 255, 255}, int64(1))
	f.Add([]byte{}, int64(1<<40))
	f.Fuzz(func(t *testing.T, raw []byte, n int64) {
		if n < 0 {
			return // shapes are checked before
		}
		list, err := UnpackStrings(raw, n)
		if err == nil && !bytes.Equal(PackStrings(nil, list), raw) {
			t.Errorf("%d strings are not what they were read from", len(list))
		}
	})
}
