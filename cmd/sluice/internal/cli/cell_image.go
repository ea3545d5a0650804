package cli

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // names the format and size of pictures
	_ "image/jpeg" // same
	_ "image/png"  // same
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	_ "golang.org/x/image/bmp"  // same
	_ "golang.org/x/image/tiff" // same
	_ "golang.org/x/image/webp" // same

	"github.com/sluice-data/sluice/operators/media"
)

// imageText writes an encoded picture as "JPEG 224x224 12 kB". Only the header is read.
func imageText(data []byte) string {
	if media.IsHEIF(data) {
		p, err := media.ReadHEIF(data)
		if err != nil {
			return "image " + size(int64(len(data)))
		}
		return fmt.Sprintf("%s %dx%d %s", strings.ToUpper(p.Format), p.Width, p.Height, size(int64(len(data))))
	}
	cfg, format, err := decodeConfig(data)
	if err != nil {
		return "image " + size(int64(len(data)))
	}
	name := strings.ToUpper(format)
	if format == "webp" {
		name = "WebP"
	}
	return fmt.Sprintf("%s %dx%d %s", name, cfg.Width, cfg.Height, size(int64(len(data))))
}

// decodeConfig reads the header; a decoder that panics on broken data is one that does not know it.
func decodeConfig(data []byte) (cfg image.Config, format string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read header: %v", p)
		}
	}()
	return image.DecodeConfig(bytes.NewReader(data))
}

// pixelsText writes a decoded picture as "pixels 224x224x3".
func pixelsText(a arrow.Array, row int) string {
	s, ok := a.(*array.Struct)
	if !ok {
		return "pixels"
	}
	dt, ok := s.DataType().(*arrow.StructType)
	if !ok {
		return "pixels"
	}
	var shape []string
	for _, name := range []string{"width", "height", "channels"} {
		i, ok := dt.FieldIdx(name)
		if !ok {
			return "pixels"
		}
		shape = append(shape, s.Field(i).ValueStr(row))
	}
	return "pixels " + strings.Join(shape, "x")
}
