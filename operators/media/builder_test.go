package media

import (
	"slices"
	"testing"
)

// TestBlocksAreCutByWork: rows of files that take long to decode are handed on before the rest of a large block is done, in the same places each time; those
// of which little is left are kept together.
func TestBlocksAreCutByWork(t *testing.T) {
	names := slices.Repeat([]string{"coffee.jpg"}, 40) // 600 x 400: the eighteenth exceeds the pixels of a block
	for _, tt := range []struct {
		steps []string
		want  []int
	}{
		{[]string{"decode", "resize 224x224"}, []int{18, 18, 4}},
		{[]string{"decode", "resize 32x32"}, []int{40}},
	} {
		for range 2 {
			rt := newRuntime(t)
			rt.blockBytes = 64 << 20
			in := images(t, rt, names...)
			var got []int
			for _, b := range run(t, rt, chain(t, tt.steps...), in) {
				got = append(got, b.NumRows())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v: blocks of %v rows, want %v", tt.steps, got, tt.want)
			}
		}
	}
}
