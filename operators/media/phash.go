package media

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// PHashParams are the parameters of phash.
type PHashParams struct {
	Method string `json:"method,omitempty" doc:"local (finds pictures with damaged parts) or dct (confuses different pictures even more rarely)"`
	In     string `json:"in,omitempty" doc:"column of pixels"`
	Out    string `json:"out,omitempty" doc:"column for the hash"`
}

var phashDefaults = PHashParams{Method: "local", Out: "phash"}

// Defaults implements dataset.Defaulter.
func (PHashParams) Defaults() any { return phashDefaults }

func init() {
	define(dataset.Def{
		Name: "phash",
		Doc:  "add a perceptual hash of each picture",
		Help: "The hash has 64 bits. Pictures that show the same but differ in size, compression, colour space or small retouches have hashes that " +
			"differ in few bits, usually at most 6; see mark-duplicates. Rotated or mirrored pictures and crops of more than a few percent are different pictures to it.",
		Example: "phash",
	}, phashDefaults, PHash)
}

// PHash makes the phash operator.
func PHash(p PHashParams) (dataset.Spec, error) {
	method, err := imaging.ParseHashMethod(p.Method)
	if err != nil {
		return nil, err
	}
	s := step{name: "phash", version: 1, params: p, img: imaging.Hash{Method: method}}
	s.in, _ = columns(p.In, "")
	if s.out = p.Out; s.out == "" {
		s.out = "phash"
	}
	s.adds = adding(arrow.PrimitiveTypes.Uint64, s.out)
	return single(s), nil
}
