package media

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// CropParams are the parameters of crop.
type CropParams struct {
	Rect string `json:"rect" arg:"word" doc:"WIDTHxHEIGHT around the centre, or WIDTHxHEIGHT+X+Y"`
	In   string `json:"in,omitempty" doc:"column of pixels"`
	Out  string `json:"out,omitempty" doc:"column for the result; the default replaces in"`
}

func init() {
	define(dataset.Def{
		Name:    "crop",
		Doc:     "cut out a part of each picture",
		Help:    "Without an offset the part is taken from the centre. A part that leaves the picture is a row error.",
		Example: "crop 200x200+10+20",
	}, CropParams{}, Crop)
}

// Crop makes the crop operator.
func Crop(p CropParams) (dataset.Spec, error) {
	c, err := parseRect(p.Rect)
	if err != nil {
		return nil, err
	}
	s := step{name: "crop", version: 1, params: p, img: c, gives: block.Pixels}
	s.in, s.out = columns(p.In, p.Out)
	return single(s), nil
}

// parseRect reads WxH or WxH+X+Y.
func parseRect(text string) (imaging.Crop, error) {
	size, offset, placed := strings.Cut(text, "+")
	w, h, err := parseSize(size)
	if err != nil {
		return imaging.Crop{}, err
	}
	c := imaging.Crop{W: w, H: h, Center: !placed}
	if !placed {
		return c, nil
	}
	xs, ys, ok := strings.Cut(offset, "+")
	x, xerr := strconv.ParseUint(xs, 10, 24)
	y, yerr := strconv.ParseUint(ys, 10, 24)
	if !ok || xerr != nil || yerr != nil {
		return c, fmt.Errorf("part %q is not WIDTHxHEIGHT+X+Y, like 200x200+10+20", text)
	}
	c.X, c.Y = int(x), int(y)
	return c, nil
}
