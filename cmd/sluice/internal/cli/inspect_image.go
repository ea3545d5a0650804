package cli

import (
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // the formats whose headers are read
	_ "image/jpeg"
	_ "image/png"
	"os"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
)

// imageFormats are the names of images, by extension or first bytes.
var imageFormats = []string{"jpeg", "jpg", "png", "gif", "bmp", "tiff", "tif", "webp"}

// inspectImage reads the header of an image.
func inspectImage(path string) (format, text string, err error) {
	f, err := os.Open(path) //nolint:gosec // the file that the user named
	if err != nil {
		return "", "", cause(err)
	}
	defer f.Close()
	c, name, err := image.DecodeConfig(f)
	if err != nil {
		return "", "", fmt.Errorf("read the header of the image: %w", err)
	}
	return name + " image", fmt.Sprintf("  %s × %s pixels (%.1f megapixels), %s\n", count(int64(c.Width)), count(int64(c.Height)),
		float64(c.Width)*float64(c.Height)/1e6, modelName(c.ColorModel)), nil
}

// modelName is a colour model for people.
func modelName(m color.Model) string {
	if p, ok := m.(color.Palette); ok {
		return fmt.Sprintf("palette of %s", plural(int64(len(p)), "colour"))
	}
	names := []struct {
		m    color.Model
		name string
	}{
		{color.YCbCrModel, "YCbCr, 8 bits a channel"}, {color.NYCbCrAModel, "YCbCr with alpha, 8 bits a channel"}, {color.CMYKModel, "CMYK, 8 bits a channel"},
		{color.GrayModel, "grey, 8 bits"}, {color.Gray16Model, "grey, 16 bits"}, {color.RGBAModel, "RGB, 8 bits a channel"},
		{color.NRGBAModel, "RGB with alpha, 8 bits a channel"}, {color.RGBA64Model, "RGB, 16 bits a channel"}, {color.NRGBA64Model, "RGB with alpha, 16 bits a channel"},
	}
	for _, n := range names {
		if n.m == m {
			return n.name
		}
	}
	return "unknown colour model"
}
