package page

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// picture is a gradient, so that its halves differ.
func picture() image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, 320, 200))
	for y := range 200 {
		for x := range 320 {
			m.SetNRGBA(x, y, color.NRGBA{uint8(x), uint8(y), uint8(x ^ y), 255})
		}
	}
	return m
}

func encoded(t *testing.T, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSalvage(t *testing.T) {
	j := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(), nil) })
	p := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture()) })
	g := encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, picture(), nil) })
	bent := bytes.Clone(p)
	bent[len(bent)-20] ^= 0x40 // the checksum of the last pixels
	for _, tt := range []struct {
		name string
		data []byte
		ok   bool
	}{
		{"whole jpeg", j, true}, {"whole png", p, true}, {"half a jpeg", j[:len(j)/2], true}, {"half a png", p[:len(p)/2], true}, {"a cut chunk of a png", p[:len(p)-30], true}, {"png with a bent checksum", bent, true},
		{"head of a jpeg", j[:100], false}, {"head of a png", p[:40], false}, {"half a gif", g[:len(g)/2], false}, {"text", []byte("<html>"), false}, {"nothing", nil, false},
	} {
		m, ok := salvage(tt.data)
		if ok != tt.ok || ok && m.Bounds().Dx() != 320 {
			t.Errorf("%s: %v", tt.name, ok)
		}
		if !ok {
			continue
		}
		r, gr, _, _ := m.At(100, 20).RGBA() // of the upper half, which is always there
		if r>>8 < 90 || r>>8 > 110 || gr>>8 > 40 {
			t.Errorf("%s: the pixel is %d,%d", tt.name, r>>8, gr>>8)
		}
		if b := thumbnail(m, 64).Bounds(); b.Dx() != 64 || b.Dy() != 40 {
			t.Errorf("%s: thumbnail of %v", tt.name, b)
		}
	}
}

// FuzzSalvage wants no panic and no picture of another size than the header says.
func FuzzSalvage(f *testing.F) {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 9, 7)))
	f.Add(b.Bytes())
	b.Reset()
	_ = jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 9, 7)), nil)
	f.Add(b.Bytes()[:b.Len()-9])
	f.Fuzz(func(t *testing.T, data []byte) {
		if cfg, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && (cfg.Width > 512 || cfg.Height > 512) {
			return
		}
		if m, ok := salvage(data); ok && m == nil {
			t.Error("no picture")
		}
	})
}

// full is a run with something in every part of the page.
func full(t *testing.T) *Data {
	dir := t.TempDir()
	j := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(), nil) })
	for name, data := range map[string][]byte{"half.jpg": j[:len(j)/2], "page.jpg": []byte("<html><script>alert(1)</script>"), "empty.jpg": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := &Data{Command: `photos/*.jpg | where path != "<script>" | out/`, Version: "v1", Began: time.Unix(1_800_000_000, 0).UTC(), Plan: "Physical plan: a → b", Folder: dir,
		Report: dataset.Report{Run: "r-1", RowsRead: 12_345, RowsWritten: 12_300, RowsFailed: 4, BytesRead: 5 << 20, Wall: 10 * time.Second, PeakBytes: 40 << 20, BudgetBytes: 64 << 20, SpilledBytes: 1 << 20,
			Failures: []dataset.Failure{{Op: "decode", Class: "truncated", Count: 4, Examples: []dataset.FailureExample{{Where: "half.jpg", Cause: "data is truncated"}, {Where: "page.jpg", Cause: "not an image"},
				{Where: "empty.jpg", Cause: "file is empty"}, {Where: "../../etc/none", Cause: "gone"}}}},
			Warnings: []dataset.Warning{{Class: "odd exif", Count: 2, Examples: []string{"a.jpg"}}}, Notes: []string{"it went on"},
			Targets:  []dataset.TargetReport{{Locator: "out/", Rows: 12_300, Parts: 2}},
			Progress: dataset.Progress{Bottleneck: dataset.Bottleneck{Stage: "decode", Why: "2 of 2 CPUs busy"}}}}
	for i, name := range []string{"read images", "decode <b>", "write parquet"} {
		d.Report.Stages = append(d.Report.Stages, dataset.StageReport{Name: name, RowsIn: int64(100 * i), RowsOut: 100, Busy: time.Second, Waits: map[string]time.Duration{"memory": time.Second},
			Flow: dataset.Flow{Working: time.Duration(i+1) * time.Second, Idle: map[string]time.Duration{"input": time.Second, "output": 2 * time.Second}, P50: time.Millisecond, P99: time.Second, PeakBytes: 9 << 20}})
	}
	r := rand.New(rand.NewPCG(1, 2))
	read := int64(0)
	for i := range 60 {
		read += 100 + r.Int64N(100)
		d.Samples = append(d.Samples, Sample{At: time.Duration(i+1) * 250 * time.Millisecond, Read: read, Written: read * 9 / 10, Used: int64(10+i/2) << 20, StageOut: []int64{read, read, 0}, Held: []int64{1 << 20, 8 << 20, 0}})
	}
	return d
}

func render(t *testing.T, d *Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	html := render(t, full(t))
	for _, want := range []string{"12,345 rows", "Why" /* none */, "data:image/jpeg;base64,", "3c 68 74 6d 6c", "looks like text/html", "2 of 2 CPUs busy", "decode &lt;b&gt;", "<polyline", "a free CPU" /* none */, "odd exif", "it went on",
		"the next stage", "spilled to disk", "Physical plan: a → b", "budget"} {
		has := strings.Contains(html, want)
		if none := want == "Why" || want == "a free CPU"; has == none {
			t.Errorf("%q is there: %v", want, has)
		}
	}
	if strings.Contains(html, "<script") || regexp.MustCompile(`(?:src|href)="(?:https?:)?//|url\(|@import`).MatchString(html) {
		t.Error("the page asks for something outside, or runs something")
	}
	if n := strings.Count(html, "<img "); n != 1 {
		t.Errorf("%d pictures, want that of the half one", n)
	}
}

// TestPagesOfOddRuns: a run that did nothing, one that failed at once, one without a number that could be drawn.
func TestPagesOfOddRuns(t *testing.T) {
	for name, d := range map[string]*Data{
		"nothing":  {Report: dataset.Report{Complete: true}},
		"failed":   {Failed: "disk full\nsecond line", Report: dataset.Report{Stages: []dataset.StageReport{{Name: "read"}}}},
		"all zero": {Samples: make([]Sample, 10), Report: dataset.Report{Stages: []dataset.StageReport{{Name: "read"}}}},
	} {
		html := render(t, d)
		if strings.Contains(html, "NaN") || strings.Contains(html, "Inf") || strings.Contains(html, "ZgotmplZ") {
			_, body, _ := strings.Cut(html, "</style>")
			t.Errorf("%s: %s", name, body)
		}
		if name == "failed" && !strings.Contains(html, `id="error">disk full`) {
			t.Errorf("it does not say why")
		}
	}
}

func TestNice(t *testing.T) {
	for in, want := range map[float64]float64{0: 1, 1: 1, 7: 8, 11: 20, 999: 1000, 0.03: 0.04} {
		if got := nice(in); fmt.Sprintf("%.4f", got) != fmt.Sprintf("%.4f", want) {
			t.Errorf("nice(%g) = %g, want %g", in, got, want)
		}
	}
}
