package media

import (
	"fmt"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// ConvertParams are the parameters of convert.
type ConvertParams struct {
	Mode string `json:"mode" arg:"word" doc:"rgb, grey or rgba"`
	In   string `json:"in,omitempty" doc:"column of pixels"`
	Out  string `json:"out,omitempty" doc:"column for the result; the default replaces in"`
}

func init() {
	define(dataset.Def{
		Name:    "convert",
		Doc:     "change the channels of pictures",
		Help:    "grey is the luma of ITU-R BT.601; rgb lays alpha on white; rgba adds opaque alpha. 16 bits are scaled to 8.",
		Example: "convert grey",
	}, ConvertParams{}, Convert)
}

// Convert makes the convert operator.
func Convert(p ConvertParams) (dataset.Spec, error) {
	mode, err := imaging.ParseMode(p.Mode)
	if err == nil && (mode == imaging.ModeKeep || p.Mode == "") {
		err = fmt.Errorf("mode %q is no conversion; want rgb, grey or rgba", p.Mode)
	}
	if err != nil {
		return nil, err
	}
	s := step{name: "convert", version: 1, params: p, img: imaging.ToMode{Mode: mode}, gives: block.Pixels}
	s.in, s.out = columns(p.In, p.Out)
	return single(s), nil
}
