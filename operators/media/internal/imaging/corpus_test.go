//go:build corpus

package imaging

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pillowLine is what hack/images/pillow.py says of a file.
type pillowLine struct {
	reference
	Path, Error string
}

// divergences are files that are read otherwise than Pillow reads them, and why.
var divergences = map[string]string{
	"rgb.avif": "chroma of half the size is enlarged in another way, which shows on drawings; all of it is 5.1 apart from the drawing, Pillow's 6.8",
}

// corpus lists the files of SLUICE_CORPUS, without the results that its tests compare with, and the pictures of this repository.
func corpus(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{os.Getenv("SLUICE_CORPUS"), "testdata", photos, photos + "/sub", photos + "/broken"} {
		names, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			ext := filepath.Ext(n.Name())
			still := strings.Contains(n.Name(), ".golden.") && ext != ".gif" && ext != ".webp" && ext != ".avif" && ext != ".heic"
			if !n.IsDir() && !still && ext != ".json" && ext != ".md" {
				all = append(all, filepath.Join(dir, n.Name()))
			}
		}
	}
	return all
}

// TestCorpus decodes every frame of every file: each is as Pillow reads it, or is refused with words that say why.
func TestCorpus(t *testing.T) {
	files := corpus(t)
	out := filepath.Join(t.TempDir(), "pixels")
	cmd := exec.Command(os.Getenv("SLUICE_PILLOW"), append([]string{"../../../../hack/images/pillow.py", out}, files...)...)
	cmd.Stderr = os.Stderr
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pixels, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer pixels.Close()
	pillow := bufio.NewReaderSize(pixels, 1<<20)
	workers := map[string]*Worker{"auto": NewWorker(), "standard": NewStandardWorker()}
	lines := json.NewDecoder(bytes.NewReader(said))
	decoded, refused := 0, 0
	for _, path := range files {
		var line pillowLine
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		var want []*Image
		for _, f := range line.Frames {
			pix := make([]byte, f.Width*f.Height*4)
			if _, err := io.ReadFull(pillow, pix); err != nil {
				t.Fatal(err)
			}
			m, err := Wrap(pix, f.Width, f.Height, 4, 8, nil)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, m)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for kind, w := range workers {
			if kind == "standard" && !strings.HasSuffix(path, ".avif") {
				continue // the other formats that libraries decode are compared elsewhere (JPEG) or have no second decoder (HEIC)
			}
			got, _, err := shown(w, data, ModeRGBA)
			if err != nil {
				refused++
				known := slices.ContainsFunc([]error{ErrEmpty, ErrNotImage, ErrTruncated, ErrCorrupt, ErrTooLarge, ErrUnsupported}, func(e error) bool { return errors.Is(err, e) })
				if !known {
					t.Errorf("%s, %s: refused without a class: %v", filepath.Base(path), kind, err)
				}
				t.Logf("%-10s %-44s refused: %v; Pillow: %d frames %s", kind, filepath.Base(path), err, len(want), line.Error)
				continue
			}
			decoded++
			worst := 0.0
			if len(got) != len(want) {
				t.Errorf("%s, %s: %d frames, Pillow has %d: %s", filepath.Base(path), kind, len(got), len(want), line.Error)
				continue
			}
			for i := range got {
				if got[i].W != want[i].W || got[i].H != want[i].H {
					t.Errorf("%s, %s: frame %d is %dx%d, Pillow has %dx%d", filepath.Base(path), kind, i, got[i].W, got[i].H, want[i].W, want[i].H)
					continue
				}
				worst = max(worst, apart(t, got[i], want[i]))
			}
			t.Logf("%-10s %-44s %d frames, %.2f apart", kind, filepath.Base(path), len(got), worst)
			if limit := 2.0; worst > limit && divergences[filepath.Base(path)] == "" {
				t.Errorf("%s, %s: differs from Pillow by %.2f", filepath.Base(path), kind, worst)
			}
		}
	}
	for _, w := range workers {
		w.Close()
	}
	t.Logf("%d files: decoded %d times, refused %d times", len(files), decoded, refused)
}
