package media_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media"
)

// show runs steps on photos of the test data and prints the columns, a row a line, in source order.
func show(pattern string, columns []string, steps ...func() (dataset.Spec, error)) {
	ctx := context.Background()
	s, err := sluice.Open(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	def, err := s.Registry().Source("images")
	if err != nil {
		fmt.Println(err)
		return
	}
	src, err := def.Open(ctx, []dataset.Pattern{{Text: "../../testdata/photos/" + pattern}}, def.Zero())
	if err != nil {
		fmt.Println(err)
		return
	}
	ds := dataset.From(src, s.Runner())
	for _, step := range steps {
		spec, err := step()
		if err != nil {
			fmt.Println(err)
			return
		}
		ds = ds.Via(spec)
	}
	for b, err := range ds.Blocks(ctx, dataset.Options{Ordered: true}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for row := range b.NumRows() {
			var line []string
			for _, name := range columns {
				line = append(line, cell(b.ColumnByName(name), row))
			}
			fmt.Println(strings.Join(line, " "))
		}
	}
}

// cell prints a value: of pictures their size, of paths the last element.
func cell(a arrow.Array, row int) string {
	if a.IsNull(row) {
		return "-"
	}
	if e, ok := a.(*block.PixelsArray); ok {
		s := e.Storage().(*array.Struct)
		return fmt.Sprintf("%sx%sx%s", s.Field(2).ValueStr(row), s.Field(1).ValueStr(row), s.Field(3).ValueStr(row))
	}
	if e, ok := a.(*block.ImageArray); ok {
		return fmt.Sprintf("%.3q", e.Storage().(*array.Binary).Value(row))
	}
	switch v := a.(type) {
	case *array.String:
		return filepath.Base(v.Value(row))
	case *array.Float64:
		return fmt.Sprintf("%.2f", v.Value(row))
	}
	return a.ValueStr(row)
}

func decode() (dataset.Spec, error) { return media.Decode(media.DecodeParams{}) }

func ExampleDecode() {
	show("c*.{jpg,tif}", []string{"path", "width", "height", "format", "image"}, decode)
	// Output:
	// camera.jpg 512 512 jpeg 512x512x3
	// cat.jpg 451 300 jpeg 451x300x3
	// coffee-progressive.jpg 600 400 jpeg 600x400x3
	// coffee.jpg 600 400 jpeg 600x400x3
	// coins.tif 384 303 tiff 384x303x3
}

func ExampleResize() {
	show("cat.jpg", []string{"width", "height", "image"}, decode, func() (dataset.Spec, error) {
		return media.Resize(media.ResizeParams{Size: "224x224", Fit: "fit"})
	})
	// Output:
	// 451 300 224x149x3
}

func ExampleCrop() {
	show("cat.jpg", []string{"image"}, decode, func() (dataset.Spec, error) {
		return media.Crop(media.CropParams{Rect: "200x100+10+20"})
	})
	// Output:
	// 200x100x3
}

func ExampleConvert() {
	show("cat.jpg", []string{"image"}, decode, func() (dataset.Spec, error) {
		return media.Convert(media.ConvertParams{Mode: "grey"})
	})
	// Output:
	// 451x300x1
}

func ExampleEncode() {
	show("cat.jpg", []string{"image"}, decode, func() (dataset.Spec, error) {
		return media.Encode(media.EncodeParams{Format: "png"})
	})
	// Output:
	// "\x89PN"
}

func ExamplePHash() {
	show("sub/flat.jpg", []string{"phash"}, decode, func() (dataset.Spec, error) {
		return media.PHash(media.PHashParams{})
	})
	// Output:
	// 0
}

func ExampleScore() {
	show("sub/flat.jpg", []string{"blur", "brightness", "entropy"}, decode, func() (dataset.Spec, error) {
		return media.Score(media.ScoreParams{})
	})
	// Output:
	// 0.00 0.50 0.00
}

func ExampleToTensor() {
	show("cat.jpg", []string{"width"}, decode, func() (dataset.Spec, error) {
		return media.Resize(media.ResizeParams{Size: "224x224"})
	}, func() (dataset.Spec, error) {
		return media.ToTensor(media.TensorParams{Size: "224x224", Channels: 3, Mean: []float32{0.485, 0.456, 0.406}, Std: []float32{0.229, 0.224, 0.225}})
	})
	// Output:
	// 451
}

func ExampleMarkDuplicates() {
	show("**/c*.jpg", []string{"path", "duplicate_of"}, decode, func() (dataset.Spec, error) {
		return media.PHash(media.PHashParams{})
	}, func() (dataset.Spec, error) {
		return media.MarkDuplicates(media.MarkDuplicatesParams{Distance: 6})
	})
	// Output:
	// camera.jpg -
	// cat.jpg -
	// coffee-progressive.jpg -
	// coffee.jpg coffee-progressive.jpg
	// cat-small.jpg cat.jpg
	// coffee-cmyk.jpg coffee-progressive.jpg
}
