package avif

import (
	"errors"
	"os"
	"testing"
	"time"
)

func job(t testing.TB, name string, w, h, frames int) Job {
	t.Helper()
	data, err := os.ReadFile("../imaging/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return Job{Data: data, Bytes: 16 << 20, Time: time.Minute, W: w, H: h, Frames: frames, All: frames > 1}
}

func TestDecode(t *testing.T) {
	var s Sandbox
	p, err := s.Decode(job(t, "rgb.avif", 61, 47, 1))
	if err != nil || p.Len() != 1 || p.Depth != 8 || len(p.Pix(0)) != 61*47*4 {
		t.Fatalf("%v, %+v", err, p)
	}
	p, err = s.Decode(job(t, "moving.avif", 40, 30, 5))
	if err != nil || p.Len() != 5 || p.Seconds[2] != 0.25 {
		t.Fatalf("%v, %+v", err, p)
	}
}

// TestBounds: what a file may not have ends it, and nothing else.
func TestBounds(t *testing.T) {
	var s Sandbox
	small, hasty, other := job(t, "moving.avif", 40, 30, 5), job(t, "moving.avif", 40, 30, 5), job(t, "moving.avif", 41, 30, 5)
	small.Bytes, hasty.Time = 1<<20, time.Nanosecond
	broken := job(t, "moving.avif", 40, 30, 5)
	broken.Data = append([]byte(nil), broken.Data...)
	for i := len(broken.Data) - 900; i < len(broken.Data); i++ {
		broken.Data[i] ^= 0x5a
	}
	for name, c := range map[string]struct {
		job Job
		is  error
	}{"memory": {small, ErrMemory}, "time": {hasty, ErrTime}, "size": {other, ErrDecode}, "damage": {broken, ErrDecode}} {
		if _, err := s.Decode(c.job); !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %v", name, err, c.is)
		}
		if p, err := s.Decode(job(t, "rgb.avif", 61, 47, 1)); err != nil || p.Pix(0)[3] != 255 {
			t.Errorf("after %s: %v", name, err)
		}
	}
}
