package media

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// chequered is a PNG whose pixel x, y is the grey 16y+x.
func chequered(t *testing.T, w, h int) string {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetGray(x, y, color.Gray{Y: uint8(16*y + x)})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestCropBoxes(t *testing.T) {
	box := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		arrow.Field{Name: "width", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "height", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	schema := dt.Schema("n", arrow.PrimitiveTypes.Int64, "image", arrow.BinaryTypes.Binary, "boxes", arrow.ListOf(box))
	pic := chequered(t, 10, 6)
	rows := fmt.Sprintf(`[{"n":0,"image":%q,"boxes":[{"x":1,"y":2,"width":2,"height":1},{"x":8,"y":4,"width":9,"height":9},{"x":-3,"y":0,"width":4,"height":1}]},
		{"n":1,"image":%q,"boxes":[]}, {"n":2,"image":%q,"boxes":null}, {"n":3,"image":null,"boxes":[{"x":0,"y":0,"width":1,"height":1}]},
		{"n":4,"image":"bm9wZQ==","boxes":[{"x":0,"y":0,"width":1,"height":1}]}, {"n":5,"image":%q,"boxes":[{"x":0,"y":0,"width":1,"height":1},{"x":10,"y":0,"width":1,"height":1}]},
		{"n":6,"image":%q,"boxes":[{"x":9,"y":5,"width":1,"height":1}]}]`, pic, pic, pic, pic, pic)
	make := func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
		return arraytest.FromJSON(t, mem, schema, rows)
	}
	test := func(t *testing.T, mem *arraytest.Memory, in dt.Input, isolated bool) {
		spec, err := CropBoxes(CropBoxesParams{Boxes: "boxes"})
		if err != nil {
			t.Fatal(err)
		}
		if isolated {
			spec = spec.(dataset.PartIsolable).Isolated(0)
		}
		got := dt.Run(t, mem, spec, dt.Config{BlockBytes: 20}, in)
		var have []string
		for _, b := range got.Blocks {
			n := b.Column(0).(*array.Int64)
			cells, err := newCells(b.Column(1), false)
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.NumRows() {
				m, err := cells.pixels(i)
				if err != nil {
					t.Fatal(err)
				}
				have = append(have, fmt.Sprintf("%d:%dx%d:%d", n.Value(i), m.W, m.H, m.Pix[0][0]))
			}
		}
		if s := strings.Join(have, " "); s != "0:2x1:33 0:2x2:72 0:1x1:0 6:1x1:89" {
			t.Errorf("rows are %s", s)
		}
		if s := strings.Join(got.IDs(), " "); s != "1:0.0 1:0.1 1:0.2 1:6.0" {
			t.Errorf("identities are %s", s)
		}
		if c := got.Causes(); len(c) != 2 || !strings.HasPrefix(c[0], "1:4: ") || !slices.Contains(c, "1:5: box 1 lies outside the picture of 10x6") {
			t.Errorf("failures are %q", c)
		}
	}
	dt.Shapes(t, make, func(t *testing.T, mem *arraytest.Memory, in dt.Input) { test(t, mem, in, false) })
	t.Run("isolated", func(t *testing.T) {
		dt.Shapes(t, make, func(t *testing.T, mem *arraytest.Memory, in dt.Input) { test(t, mem, in, true) })
	})
}
