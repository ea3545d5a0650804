package media

import (
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// ResizeParams are the parameters of resize.
type ResizeParams struct {
	Size string `json:"size" arg:"word" doc:"WIDTHxHEIGHT"`
	Fit  string `json:"fit,omitempty" arg:"word" doc:"exact, fit (largest that fits inside), or fill (smallest that covers, centre-cropped)"`
	In   string `json:"in,omitempty" doc:"column of pixels"`
	Out  string `json:"out,omitempty" doc:"column for the result; the default replaces in"`
}

var resizeDefaults = ResizeParams{Fit: "exact"}

// Defaults implements dataset.Defaulter.
func (ResizeParams) Defaults() any { return resizeDefaults }

func init() {
	define(dataset.Def{
		Name: "resize",
		Doc:  "resize pictures with an antialiased filter",
		Help: "exact stretches to the size; fit keeps proportions and gives the largest picture that fits inside, without padding; fill keeps " +
			"proportions and gives the smallest picture that covers the size, cropped to it around the centre. The filter is a triangle as wide as two pixels of the smaller side (bilinear with antialiasing).",
		Example: "resize 224x224 fill",
	}, resizeDefaults, Resize)
}

// Resize makes the resize operator.
func Resize(p ResizeParams) (dataset.Spec, error) {
	w, h, err := parseSize(p.Size)
	if err != nil {
		return nil, err
	}
	fit, err := imaging.ParseFit(p.Fit)
	if err != nil {
		return nil, err
	}
	s := step{name: "resize", version: 1, params: p, img: imaging.Resize{W: w, H: h, Fit: fit}, gives: block.Pixels}
	s.in, s.out = columns(p.In, p.Out)
	return single(s), nil
}
