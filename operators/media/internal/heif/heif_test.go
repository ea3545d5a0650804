package heif

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	if !Has(HEVC) {
		t.Log("no libheif with HEVC here: ", Describe())
		return
	}
	data, err := os.ReadFile("../imaging/testdata/rgb.heic")
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	err = Decode(data, Options{MaxSide: 1000}, func(p Picture) error {
		seen = p.W == 61 && p.H == 47 && p.Depth == 8 && len(p.Pix) >= 61*47*3
		return nil
	})
	if err != nil || !seen {
		t.Fatalf("%v, seen %v", err, seen)
	}
	for n := 0; n < len(data); n += 13 {
		if err := Decode(data[:n:n], Options{}, func(Picture) error { return nil }); err == nil {
			t.Errorf("%d of %d bytes decoded", n, len(data))
		}
	}
}

// TestSwitchedOff runs itself without the library.
func TestSwitchedOff(t *testing.T) {
	if os.Getenv("SLUICE_NO_HEIF") == "1" {
		if Available() || Has(HEVC) || Has(AV1) || !strings.Contains(Describe(), "SLUICE_NO_HEIF=1") {
			t.Fatal(Describe())
		}
		if err := Decode([]byte{1}, Options{}, nil); err == nil {
			t.Fatal("decoded")
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestSwitchedOff$")
	cmd.Env = append(os.Environ(), "SLUICE_NO_HEIF=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
