package media

import (
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// EncodeParams are the parameters of encode.
type EncodeParams struct {
	Format  string `json:"format" arg:"word" doc:"jpeg, png or webp"`
	Quality int    `json:"quality,omitempty" arg:"word" doc:"1 to 100 for jpeg and webp; 0 means 75"`
	In      string `json:"in,omitempty" doc:"column of pixels"`
	Out     string `json:"out,omitempty" doc:"column for the files; the default replaces in"`
}

var encodeDefaults = EncodeParams{Format: "jpeg"}

// Defaults implements dataset.Defaulter.
func (EncodeParams) Defaults() any { return encodeDefaults }

func init() {
	define(dataset.Def{
		Name:    "encode",
		Doc:     "encode pixels as JPEG, PNG or WebP",
		Help:    "JPEG has 4:2:0 chroma and lays alpha on white. Colour profiles are embedded again in JPEG and PNG.",
		Example: "encode jpeg 75",
	}, encodeDefaults, Encode)
}

// Encode makes the encode operator.
func Encode(p EncodeParams) (dataset.Spec, error) {
	if p.Format == "" {
		p.Format = "jpeg"
	}
	opt, err := imaging.ParseEncode(p.Format, p.Quality)
	if err != nil {
		return nil, err
	}
	s := step{name: "encode", version: 1, params: p, img: imaging.Compress{Options: opt}, gives: block.Image}
	s.in, s.out = columns(p.In, p.Out)
	return single(s), nil
}
