package media

import "testing"

// FuzzSizes reads sizes and parts as typed: what is accepted is within the limits.
func FuzzSizes(f *testing.F) {
	for _, s := range []string{"224x224", "10x20+3+4", "0x0", "1x", "x", "99999999999x1", "1x1+-1+2", "1x1+1", "+", "65535x65535+16777215+0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if w, h, err := parseSize(s); err == nil && (w < 1 || h < 1 || w > maxSide || h > maxSide) {
			t.Errorf("size %q gave %dx%d", s, w, h)
		}
		if c, err := parseRect(s); err == nil && (c.W < 1 || c.H < 1 || c.X < 0 || c.Y < 0 || c.W > maxSide || c.H > maxSide) {
			t.Errorf("part %q gave %+v", s, c)
		}
	})
}
