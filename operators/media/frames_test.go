package media

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset/block"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// animation reads a picture of the tests below.
func animation(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("internal/imaging/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// damaged has the pixels of a frame in its midst overwritten, its structure whole.
func damaged(t *testing.T) []byte {
	t.Helper()
	data := append([]byte(nil), animation(t, "flat.gif")...)
	at := len(data) * 5 / 8
	for data[at] != 0xff || data[at+256] != 0xff { // a whole sub-block of 255 bytes, and the next
		at++
	}
	for i := at + 1; i < at+256; i++ {
		data[i] = 0xff
	}
	return data
}

func framesOf(t *testing.T, files map[int][]byte, n int, p FramesParams, cfg dt.Config, check func(t *testing.T, got *dt.Result, rows []string)) {
	t.Helper()
	schema := dt.Schema("n", arrow.PrimitiveTypes.Int64, "image", arrow.BinaryTypes.Binary)
	var rows []string
	for i := range n {
		if files[i] == nil {
			rows = append(rows, fmt.Sprintf(`{"n":%d,"image":null}`, i))
			continue
		}
		rows = append(rows, fmt.Sprintf(`{"n":%d,"image":%q}`, i, base64.StdEncoding.EncodeToString(files[i])))
	}
	text := "[" + strings.Join(rows, ",") + "]"
	spec, err := Frames(p)
	if err != nil {
		t.Fatal(err)
	}
	dt.Shapes(t, func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
		return arraytest.FromJSON(t, mem, schema, text)
	},
		func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
			got := dt.Run(t, mem, spec, cfg, in)
			var have []string
			for _, b := range got.Blocks {
				cells, err := newCells(b.ColumnByName("image"), false)
				if err != nil {
					t.Fatal(err)
				}
				for i := range b.NumRows() {
					m, err := cells.pixels(i)
					if err != nil {
						t.Fatal(err)
					}
					have = append(have, fmt.Sprintf("%d:%s/%s@%s+%s:%dx%dx%d", b.Column(0).(*array.Int64).Value(i), b.ColumnByName("frame").ValueStr(i),
						b.ColumnByName("frames").ValueStr(i), b.ColumnByName("time_ms").ValueStr(i), b.ColumnByName("delay_ms").ValueStr(i), m.W, m.H, m.Model.Channels()))
				}
			}
			check(t, got, have)
		})
}

func TestFrames(t *testing.T) {
	files := map[int][]byte{0: animation(t, "moving.gif"), 2: animation(t, "rgb.avif"), 3: []byte("nope"), 4: animation(t, "moving.avif"), 5: animation(t, "moving.png")[:900], 6: animation(t, "moving.webp")}
	for _, cfg := range []dt.Config{{}, {BlockBytes: 8000}, {BlockRows: 2}, {Instances: 2, BlockBytes: 1}} {
		framesOf(t, files, 7, FramesParams{Every: 2, Max: 2}, cfg, func(t *testing.T, got *dt.Result, rows []string) {
			want := "0:0/6@0+100:40x30x3 0:2/6@150+20:40x30x3 2:0/1@0+0:61x47x3 4:0/5@0+100:40x30x3 4:2/5@140+250:40x30x3 6:0/6@0+100:40x30x3 6:2/6@150+20:40x30x3"
			if s := strings.Join(rows, " "); s != want {
				t.Errorf("rows are\n%s, want\n%s", s, want)
			}
			if s := strings.Join(got.IDs(), " "); s != "1:0.0 1:0.1 1:2.0 1:4.0 1:4.1 1:6.0 1:6.1" {
				t.Errorf("identities are %s", s)
			}
			if c := got.Causes(); len(c) != 2 || !strings.HasPrefix(c[0], "1:3: not an image") || !strings.HasPrefix(c[1], "1:5: data is truncated: png file ends after 900 bytes") {
				t.Errorf("failures are %q", c)
			}
		})
	}
}

// TestFramesTakesFilesWhole: a damaged frame, found when others of its file have been decoded, or went into blocks before it, leaves none of them.
func TestFramesTakesFilesWhole(t *testing.T) {
	files := map[int][]byte{0: animation(t, "flat.gif"), 1: damaged(t), 2: animation(t, "flat.gif")}
	for _, cfg := range []dt.Config{{}, {BlockBytes: 5000}, {BlockRows: 3}, {BlockBytes: 1}} {
		framesOf(t, files, 3, FramesParams{}, cfg, func(t *testing.T, got *dt.Result, rows []string) {
			if s := strings.Join(got.IDs(), " "); s != "1:0.0 1:0.1 1:0.2 1:0.3 1:2.0 1:2.1 1:2.2 1:2.3" {
				t.Errorf("identities are %s", s)
			}
			if c := got.Causes(); len(c) != 1 || !strings.Contains(c[0], "frame 2: ") {
				t.Errorf("failures are %q", c)
			}
		})
	}
	// What comes before the damage is there for those who ask for no more.
	framesOf(t, map[int][]byte{0: damaged(t)}, 1, FramesParams{Max: 2}, dt.Config{}, func(t *testing.T, got *dt.Result, rows []string) {
		if len(rows) != 2 || len(got.Failures) != 0 {
			t.Errorf("%d rows, %q", len(rows), got.Causes())
		}
	})
}

func TestFramesLimits(t *testing.T) {
	file := map[int][]byte{0: animation(t, "moving.gif")}
	for _, c := range []struct {
		p   FramesParams
		say string
	}{
		{FramesParams{MaxFrames: 5}, "gif has 6 frames, of which 6 would be decoded, above the limit of 5; take fewer with max=, or raise max_frames"},
		{FramesParams{MaxTotalPixels: 7000}, "6 frames of 40x30 pixels, of which 6 would be decoded, 7200 pixels, above the limit of 7000"},
		{FramesParams{MaxPixels: 1000}, "1200 pixels, above the limit of 1000"},
		{FramesParams{MaxBytes: 100}, "above the limit of 100"},
	} {
		framesOf(t, file, 1, c.p, dt.Config{}, func(t *testing.T, got *dt.Result, rows []string) {
			if f := got.Causes(); len(rows) != 0 || len(f) != 1 || !strings.Contains(f[0], c.say) {
				t.Errorf("%+v: %d rows, %q", c.p, len(rows), f)
			}
		})
	}
	// Frames that are not decoded do not count.
	framesOf(t, file, 1, FramesParams{MaxFrames: 5, Every: 4}, dt.Config{}, func(t *testing.T, got *dt.Result, rows []string) {
		if len(rows) != 2 {
			t.Errorf("%d rows, %q", len(rows), got.Causes())
		}
	})
	for _, p := range []FramesParams{{Every: -1}, {Max: -1}, {MaxFrames: -1}, {Mode: "cmyk"}} {
		if _, err := Frames(p); err == nil {
			t.Errorf("%+v passed", p)
		}
	}
	pixels := dt.Schema("image", block.Pixels)
	if _, err := op(t, "frames").Check([]*arrow.Schema{pixels}); err == nil || !strings.Contains(err.Error(), "in the place of decode") {
		t.Errorf("pixels: %v", err)
	}
	text := dt.Schema("image", arrow.BinaryTypes.String)
	if _, err := op(t, "frames").Check([]*arrow.Schema{text}); err == nil || !strings.Contains(err.Error(), `column "image" is utf8, want image or binary`) {
		t.Errorf("text column: %v", err)
	}
}
