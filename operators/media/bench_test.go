package media

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/block"
)

// BenchmarkProgram is what the operators add to BenchmarkThumbnail of package imaging: columns, blocks and reservations. It works on
// real photos of about 600x400, and reports per photo.
func BenchmarkProgram(b *testing.B) {
	for name, steps := range map[string][]string{
		"jpeg":   {"decode", "where width >= 256", "resize 224x224", "encode jpeg 75"},
		"pixels": {"decode", "resize 224x224"},
		"tensor": {"decode", "resize 224x224", "to-tensor 224x224"},
	} {
		b.Run(name, func(b *testing.B) {
			rt := newRuntime(b)
			const photos = 64
			in := images(b, rt, slices.Repeat([]string{"coffee.jpg", "rocket.jpg", "cat.jpg", "camera.jpg"}, photos/4)...)
			defer in.Release()
			o, err := chain(b, steps...).New([]*arrow.Schema{in.Schema()})
			if err != nil {
				b.Fatal(err)
			}
			if err := o.Open(b.Context(), rt); err != nil {
				b.Fatal(err)
			}
			defer o.Close()
			b.ReportAllocs()
			b.SetBytes(in.Bytes() / photos)
			rows := 0
			for b.Loop() {
				if rows++; rows%photos != 1 {
					continue // a block has this many photos
				}
				if err := o.Process(b.Context(), 0, in, func(x *block.Block) error { x.Release(); return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
