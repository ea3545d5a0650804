package media

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// ScoreParams are the parameters of score.
type ScoreParams struct {
	In     string `json:"in,omitempty" doc:"column of pixels"`
	Prefix string `json:"prefix,omitempty" doc:"put before the names of the added columns"`
}

func init() {
	define(dataset.Def{
		Name: "score",
		Doc:  "add quality scores: blur, brightness, entropy",
		Help: "blur is the variance of the Laplacian of the luma: the higher, the sharper; a picture of one colour has 0. It depends on the size, so score after resize to " +
			"compare. brightness is the mean luma from 0 to 1. entropy is that of the luma histogram in bits, from 0 (one colour) to 8.",
		Example: "score",
	}, ScoreParams{}, Score)
}

// Score makes the score operator.
func Score(p ScoreParams) (dataset.Spec, error) {
	s := step{name: "score", version: 1, params: p, img: imaging.Measure{}}
	s.in, s.out = columns(p.In, "")
	s.adds = adding(arrow.PrimitiveTypes.Float64, p.Prefix+"blur", p.Prefix+"brightness", p.Prefix+"entropy")
	return single(s), nil
}
