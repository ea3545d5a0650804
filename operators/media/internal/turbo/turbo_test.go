package turbo

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func gradient(w, h int) []byte {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetRGBA(x, y, color.RGBA{byte(255 * x / w), byte(255 * y / h), 128, 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func open(t *testing.T) (*Decoder, *Encoder, bool) {
	t.Helper()
	if !Available() {
		if _, err := NewDecoder(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("decoder without the library: %v", err)
		}
		if _, err := NewEncoder(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("encoder without the library: %v", err)
		}
		return nil, nil, false
	}
	d, err := NewDecoder()
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(); d.Close(); e.Close(); e.Close() })
	return d, e, true
}

func planes(s Subsampling, w, h int) (p [3][]byte, strides [3]int) {
	for i := range s.Planes() {
		pw, ph := s.PlaneSize(i, w, h)
		p[i], strides[i] = make([]byte, pw*ph), pw
	}
	return p, strides
}

func TestRoundTripInPlanes(t *testing.T) {
	d, e, ok := open(t)
	if !ok {
		return
	}
	for _, size := range [][2]int{{64, 48}, {61, 47}, {1, 1}, {2, 9}} {
		data := gradient(size[0], size[1])
		h, err := d.Header(data)
		if err != nil || h.Width != size[0] || h.Height != size[1] || h.Subsampling != S420 || h.Colorspace != YCbCr {
			t.Fatalf("header %+v, %v", h, err)
		}
		for _, denom := range []int{1, 2, 4, 8} {
			w, ht := ceilDiv(size[0], denom), ceilDiv(size[1], denom)
			p, strides := planes(S420, w, ht)
			if err := d.YUV(data, h, denom, p, strides); err != nil {
				t.Fatal(err)
			}
			dst := make([]byte, S420.MaxEncodedBytes(w, ht))
			n, err := e.YUV(dst, p, strides, w, ht, S420, 90)
			if err != nil {
				t.Fatal(err)
			}
			m, err := jpeg.Decode(bytes.NewReader(dst[:n]))
			if err != nil || m.Bounds().Dx() != w || m.Bounds().Dy() != ht {
				t.Errorf("%v/%d: %v", size, denom, err)
			}
		}
	}
}

func TestBuffersAreChecked(t *testing.T) {
	d, e, ok := open(t)
	if !ok {
		return
	}
	data := gradient(33, 21)
	h, err := d.Header(data)
	if err != nil {
		t.Fatal(err)
	}
	p, strides := planes(S420, 33, 21)
	short := p
	short[2] = short[2][:len(short[2])-1]
	narrow := strides
	narrow[0]--
	dst := make([]byte, S420.MaxEncodedBytes(33, 21))
	for name, err := range map[string]error{
		"short plane":    d.YUV(data, h, 1, short, strides),
		"narrow stride":  d.YUV(data, h, 1, p, narrow),
		"short pixels":   d.Packed(data, h, 3, make([]byte, 33*21*3-1), 33*3),
		"narrow rows":    d.Packed(data, h, 3, make([]byte, 33*21*3), 33*3-1),
		"two channels":   d.Packed(data, h, 2, make([]byte, 33*21*3), 33*3),
		"small output":   second(e.YUV(dst[:100], p, strides, 33, 21, S420, 75)),
		"short input":    second(e.YUV(dst, short, strides, 33, 21, S420, 75)),
		"short packed":   second(e.Packed(dst, make([]byte, 10), 99, 33, 21, 3, S420, 75)),
		"small for grey": second(e.Packed(dst[:5], make([]byte, 33*21), 33, 33, 21, 1, S420, 75)),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func second(_ int, err error) error { return err }

func TestDamageIsAWarningOrAnError(t *testing.T) {
	d, _, ok := open(t)
	if !ok {
		return
	}
	data := gradient(64, 64)
	h, err := d.Header(data)
	if err != nil {
		t.Fatal(err)
	}
	p, strides := planes(S420, 64, 64)
	err = d.YUV(data[:len(data)*2/3], h, 1, p, strides)
	if w, ok := errors.AsType[*WarningError](err); !ok || !w.Truncated() {
		t.Errorf("cut data: %v", err)
	}
	for _, bad := range [][]byte{nil, {0xff}, []byte("not a picture"), data[:20]} {
		if _, err := d.Header(bad); err == nil {
			t.Errorf("a header was read from %q", bad)
		}
	}
	if err := d.YUV(data, h, 1, p, strides); err != nil {
		t.Errorf("the decoder does not work after a failure: %v", err)
	}
}

// TestSwitchedOff runs this test binary again with the variable that hides the library.
func TestSwitchedOff(t *testing.T) {
	if os.Getenv("SLUICE_NO_TURBO") == "1" {
		if Available() || !strings.Contains(Describe(), "SLUICE_NO_TURBO=1") {
			t.Errorf("library in use: %s", Describe())
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSwitchedOff$")
	cmd.Env = append(os.Environ(), "SLUICE_NO_TURBO=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
