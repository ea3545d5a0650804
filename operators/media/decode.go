package media

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// DecodeParams are the parameters of decode.
type DecodeParams struct {
	Mode      string           `json:"mode,omitempty" doc:"rgb, grey, rgba, or keep (channels and depth of the file)"`
	MaxPixels int64            `json:"max_pixels" doc:"largest width times height that is decoded"`
	MaxBytes  dataset.ByteSize `json:"max_bytes" doc:"largest file that is decoded"`
	In        string           `json:"in,omitempty" doc:"column of encoded images"`
	Out       string           `json:"out,omitempty" doc:"column for the pixels; the default replaces in"`
}

// decodeStep is the decoding part of a step.
type decodeStep struct {
	mode   imaging.Mode
	limits imaging.Limits
}

// Columns that decode adds: the upright size and the format of the file, whatever size it is decoded at.
const (
	widthColumn  = "width"
	heightColumn = "height"
	formatColumn = "format"
)

var decodeDefaults = DecodeParams{Mode: "rgb", MaxPixels: imaging.DefaultLimits.MaxPixels, MaxBytes: dataset.ByteSize(imaging.DefaultLimits.MaxBytes)}

// Defaults implements dataset.Defaulter.
func (DecodeParams) Defaults() any { return decodeDefaults }

func init() {
	define(dataset.Def{
		Name: "decode",
		Doc:  "decode encoded images into pixels",
		Help: "Turns the image column into pixels and adds width, height and format of the file. The format is found from the content, " +
			"never from a file name: JPEG, PNG, GIF, BMP, TIFF, WebP, AVIF, HEIC; of animations the first frame (frames gives all). Pictures are upright: EXIF orientation is applied, or, " +
			"in AVIF and HEIC, the turns and mirrors of the file. HEIC needs libheif on the machine; AVIF is some eight times slower without it. " +
			"The result is 8-bit RGB: grey and palettes are expanded, CMYK is converted, alpha is laid on white, 16 bits are scaled; mode= says otherwise. " +
			"A damaged file is a row error.",
		Example: "decode max_pixels=50000000",
	}, decodeDefaults, Decode)
}

// Decode makes the decode operator.
func Decode(p DecodeParams) (dataset.Spec, error) {
	mode, err := imaging.ParseMode(p.Mode)
	if err != nil {
		return nil, err
	}
	if p.MaxPixels < 0 || p.MaxBytes < 0 {
		return nil, fmt.Errorf("max_pixels and max_bytes must not be negative")
	}
	limits := imaging.Limits{MaxPixels: p.MaxPixels, MaxBytes: int64(p.MaxBytes)}
	if limits.MaxPixels == 0 {
		limits.MaxPixels = imaging.DefaultLimits.MaxPixels
	}
	if limits.MaxBytes == 0 {
		limits.MaxBytes = imaging.DefaultLimits.MaxBytes
	}
	s := step{name: "decode", version: 2, params: p, decode: &decodeStep{mode, limits}, gives: block.Pixels}
	s.in, s.out = columns(p.In, p.Out)
	s.adds = append(adding(arrow.PrimitiveTypes.Int32, widthColumn, heightColumn), adding(arrow.BinaryTypes.String, formatColumn)...)
	return single(s), nil
}
