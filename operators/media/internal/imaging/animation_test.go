package imaging

import (
	"errors"
	"testing"
	"time"
)

// shown decodes the frames of a file.
func shown(w *Worker, data []byte, mode Mode) (out []*Image, times []time.Duration, err error) {
	h, err := ReadHeader(data, DefaultLimits)
	if err != nil {
		return nil, nil, err
	}
	a, err := ReadAnimation(data, h, 1000)
	if err != nil {
		return nil, nil, err
	}
	p := w.Play(a, data, h)
	for i := range a.Count {
		if err := p.Next(); err != nil {
			return out, times, err
		}
		m, err := p.Picture(mode)
		if err != nil {
			return out, times, err
		}
		pix := make([]byte, m.Bytes())
		if err := m.CopyPixels(pix); err != nil {
			return out, times, err
		}
		c, err := Wrap(pix, m.W, m.H, m.Model.Channels(), m.Depth, nil)
		if err != nil {
			return out, times, err
		}
		_, delay := a.Time(i)
		out, times = append(out, c), append(times, delay)
	}
	return out, times, nil
}

func TestFramesAsPillowReadsThem(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	for name, want := range references(t) {
		if h, err := ReadHeader(fixture(t, name), DefaultLimits); err == nil && h.Format == HEIC {
			continue // a still; tested as one
		}
		got, times, err := shown(w, fixture(t, name), ModeRGBA)
		if err != nil || len(got) != len(want.Frames) {
			t.Errorf("%s: %d frames, %v; want %d", name, len(got), err, len(want.Frames))
			continue
		}
		for i, m := range strip(t, name, want) {
			if d := apart(t, got[i], m); d > 4.5 || d > 2 && name != "rgb.avif" {
				t.Errorf("%s: frame %d differs from Pillow by %.2f", name, i, d)
			}
			if ms := time.Duration(want.Frames[i].Delay) * time.Millisecond; len(got) > 1 && times[i] != ms {
				t.Errorf("%s: frame %d is shown for %v, want %v", name, i, times[i], ms)
			}
		}
		first, err := decodeWith(w, fixture(t, name), ModeRGBA)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if d := apart(t, first, got[0]); d > 1 && name != "hidden.png" {
			t.Errorf("%s: decode and the first frame differ by %.2f", name, d)
		}
	}
}

// TestAnimationCuts cuts animations anywhere: each is refused before its first frame is shown, or is a still.
func TestAnimationCuts(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	for _, name := range []string{"moving.gif", "flat.gif", "moving.webp", "moving.png", "hidden.png", "moving.avif"} {
		data := fixture(t, name)
		for n := 0; n < len(data)-1; n += 11 {
			got, _, err := shown(w, data[:n:n], ModeRGB)
			if len(got) > 0 || err == nil {
				t.Errorf("%s cut to %d of %d bytes gave %d frames, %v", name, n, len(data), len(got), err)
			}
			if n > len(data)/2 && !errors.Is(err, ErrTruncated) {
				t.Errorf("%s cut to %d of %d bytes: %v; want truncated", name, n, len(data), err)
			}
		}
	}
}
