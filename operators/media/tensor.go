package media

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// TensorParams are the parameters of to-tensor.
type TensorParams struct {
	Size     string    `json:"size" arg:"word" doc:"WIDTHxHEIGHT that every picture has"`
	Layout   string    `json:"layout,omitempty" doc:"chw or hwc"`
	Channels int       `json:"channels" doc:"1, 3 or 4"`
	Mean     []float32 `json:"mean,omitempty" doc:"one value, or one a channel, taken off samples scaled to 0..1"`
	Std      []float32 `json:"std,omitempty" doc:"one value, or one a channel, to divide by"`
	In       string    `json:"in,omitempty" doc:"column of pixels"`
	Out      string    `json:"out,omitempty" doc:"column for the tensors; the default replaces in"`
}

// tensorStep is the last step of a program that ends in a tensor.
type tensorStep struct {
	w, h, channels int
	norm           *imaging.Normalizer
}

var tensorDefaults = TensorParams{Layout: "chw", Channels: 3}

// Defaults implements dataset.Defaulter.
func (TensorParams) Defaults() any { return tensorDefaults }

func init() {
	define(dataset.Def{
		Name: "to-tensor",
		Doc:  "turn pictures of one size into float32 tensors",
		Help: "Gives arrow.fixed_shape_tensor of (sample/255 - mean) / std, one plane a channel (chw) or channels last (hwc). The shape is part of " +
			"the column's type, so every picture must have the size; resize before. One that has not is a row error.",
		Example: "to-tensor 224x224 mean=0.485,0.456,0.406 std=0.229,0.224,0.225",
	}, tensorDefaults, ToTensor)
}

// ToTensor makes the to-tensor operator.
func ToTensor(p TensorParams) (dataset.Spec, error) {
	w, h, err := parseSize(p.Size)
	if err != nil {
		return nil, err
	}
	if p.Channels == 0 {
		p.Channels = 3
	}
	if p.Channels != 1 && p.Channels != 3 && p.Channels != 4 {
		return nil, fmt.Errorf("channels %d is not 1, 3 or 4", p.Channels)
	}
	layout, err := imaging.ParseLayout(p.Layout)
	if err != nil {
		return nil, err
	}
	norm, err := imaging.NewNormalizer(layout, p.Channels, p.Mean, p.Std)
	if err != nil {
		return nil, err
	}
	const maxValues = 1 << 28 // 1 GiB a row
	if w*h*p.Channels > maxValues {
		return nil, fmt.Errorf("size %s with %d channels has %d values, above the limit of %d", p.Size, p.Channels, w*h*p.Channels, maxValues)
	}
	shape, names := []int{p.Channels, h, w}, []string{"C", "H", "W"}
	if layout == imaging.HWC {
		shape, names = []int{h, w, p.Channels}, []string{"H", "W", "C"}
	}
	s := step{name: "to-tensor", version: 1, params: p, tensor: &tensorStep{w, h, p.Channels, norm},
		gives: NewTensorType(arrow.PrimitiveTypes.Float32, shape, names)}
	s.in, s.out = columns(p.In, p.Out)
	return single(s), nil
}

// fill writes the tensor of a finished picture.
func (t *tensorStep) fill(dst []float32, m *imaging.Image) error {
	if m.W != t.w || m.H != t.h {
		return fmt.Errorf("picture is %dx%d, want %dx%d; put resize %dx%d before to-tensor", m.W, m.H, t.w, t.h, t.w, t.h)
	}
	if m.Model.Channels() != t.channels {
		return fmt.Errorf("picture has %d channels, want %d; put convert before to-tensor or set channels=", m.Model.Channels(), t.channels)
	}
	return t.norm.Fill(dst, m)
}
