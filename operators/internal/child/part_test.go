package child

import (
	"errors"
	"fmt"
	"testing"
)

// TestPart counts how often requests fail until one row of n is found.
func TestPart(t *testing.T) {
	hung := fmt.Errorf("ask: %w", &Died{Text: "it took too long", Kind: "timeout"})
	for _, c := range []struct {
		n         int
		err       error
		fail, all int
	}{
		{2, errors.New("bad"), 2, 3}, {8, errors.New("bad"), 4, 7}, {8, &Died{Kind: "process"}, 4, 7}, {1000, errors.New("bad"), 11, 21},
		{2, hung, 2, 3}, {8, hung, 2, 9}, {64, hung, 2, 65}, {65, hung, 3, 18}, {1000, hung, 3, 65}, {65536, hung, 4, 529},
	} {
		for _, bad := range []int{0, c.n / 2, c.n - 1} {
			fail, all := 0, 0
			var ask func(from, to int)
			ask = func(from, to int) {
				all++
				if bad < from || bad >= to {
					return
				}
				fail++
				if n := to - from; n > 1 {
					for part := Part(n, c.err); from < to; from += part {
						ask(from, min(from+part, to))
					}
				}
			}
			ask(0, c.n)
			if fail > c.fail || all > c.all {
				t.Errorf("row %d of %d with %v: %d of %d requests failed, want %d of %d", bad, c.n, c.err, fail, all, c.fail, c.all)
			}
		}
	}
}
