package media

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// FramesParams are the parameters of frames.
type FramesParams struct {
	In             string           `json:"in,omitempty" arg:"word" doc:"column of encoded pictures; default image"`
	Every          int              `json:"every" doc:"take every so many frames: 1 is all, 10 the first, the eleventh and so on"`
	Max            int              `json:"max,omitempty" doc:"take at most so many frames of a file; those after are not decoded"`
	Mode           string           `json:"mode,omitempty" doc:"rgb, grey, rgba, or keep (rgba with 8 bits, if the file is animated)"`
	MaxPixels      int64            `json:"max_pixels" doc:"largest width times height that is decoded"`
	MaxBytes       dataset.ByteSize `json:"max_bytes" doc:"largest file that is decoded"`
	MaxFrames      int              `json:"max_frames" doc:"files in which more frames would have to be decoded are row errors"`
	MaxTotalPixels int64            `json:"max_total_pixels" doc:"files in which more pixels would have to be decoded, all frames together, are row errors"`
}

// The columns that frames adds, beside those of decode.
const (
	frameColumn  = "frame"
	framesColumn = "frames"
	timeColumn   = "time_ms"
	delayColumn  = "delay_ms"
)

var framesDefaults = FramesParams{
	Every: 1, Mode: "rgb", MaxPixels: imaging.DefaultLimits.MaxPixels, MaxBytes: dataset.ByteSize(imaging.DefaultLimits.MaxBytes),
	MaxFrames: 10_000, MaxTotalPixels: 10_000_000_000,
}

// Defaults implements dataset.Defaulter.
func (FramesParams) Defaults() any { return framesDefaults }

func init() {
	define(dataset.Def{
		Name: "frames",
		Doc:  "a row for each frame of animated pictures",
		Help: "Each picture gives a row for each of its frames, in order: GIF, animated WebP and PNG, AVIF sequences; a still picture gives one. The picture column holds " +
			"the frame as it is shown, decoded: what frames before it left is there, their areas disposed of as the file says, on a transparent canvas. Added are frame, its " +
			"number from 0; frames, how many the file has; time_ms, when it begins; delay_ms, how long it is shown; and width, height and format, as decode adds them. " +
			"The other columns are repeated. Rows without a picture leave. A file is taken whole or not at all: if it breaks off, or one of its frames is damaged, that is a row error, and " +
			"none of its frames are there; pixels of frames beyond max= are not looked at. Frames stream: a file may have more of them than fit in memory, but for AVIF, whose decoder gives all at once (1 GiB at most). " +
			"--isolate does not take this step out of the process.",
		Example: "frames every=5 max=16",
	}, framesDefaults, Frames)
}

// Frames makes a row of each frame of a picture.
func Frames(p FramesParams) (dataset.Spec, error) {
	if p.Every == 0 {
		p.Every = framesDefaults.Every
	}
	if p.Every < 0 || p.Max < 0 {
		return nil, fmt.Errorf("every must be 1 or more and max not negative; they are %d and %d", p.Every, p.Max)
	}
	if p.MaxPixels < 0 || p.MaxBytes < 0 || p.MaxFrames < 0 || p.MaxTotalPixels < 0 {
		return nil, errors.New("max_pixels, max_bytes, max_frames and max_total_pixels must not be negative")
	}
	mode, err := imaging.ParseMode(p.Mode)
	if err != nil {
		return nil, err
	}
	d := framesDefaults
	f := &frames{params: p, mode: mode, most: p.MaxFrames, total: p.MaxTotalPixels, limits: imaging.Limits{MaxPixels: p.MaxPixels, MaxBytes: int64(p.MaxBytes)}}
	f.in, _ = columns(p.In, "")
	if f.most == 0 {
		f.most = d.MaxFrames
	}
	if f.total == 0 {
		f.total = d.MaxTotalPixels
	}
	if f.limits.MaxPixels == 0 {
		f.limits.MaxPixels = d.MaxPixels
	}
	if f.limits.MaxBytes == 0 {
		f.limits.MaxBytes = int64(d.MaxBytes)
	}
	return f, nil
}

// frames is the Spec.
type frames struct {
	params FramesParams
	in     string
	mode   imaging.Mode
	limits imaging.Limits
	most   int
	total  int64
}

var (
	_ dataset.Spec           = (*frames)(nil)
	_ dataset.Columner       = (*frames)(nil)
	_ dataset.FilterCommuter = (*frames)(nil)
	_ dataset.Memory         = (*frames)(nil)
	_ dataset.Backend        = (*frames)(nil)
)

func (*frames) Name() string                 { return "frames" }
func (*frames) Version() int                 { return 1 }
func (f *frames) Params() any                { return f.params }
func (*frames) Needs() dataset.Resources     { return dataset.Resources{} }
func (*frames) Instances() dataset.Instances { return dataset.Any }
func (*frames) Holds() string                { return "streams" }
func (*frames) Backend() string              { return "jpeg: " + JPEGBackend() }

// framesAdds are the columns after those of the input.
var framesAdds = slices.Concat(
	adding(arrow.PrimitiveTypes.Int32, frameColumn, framesColumn), adding(arrow.PrimitiveTypes.Int64, timeColumn, delayColumn),
	adding(arrow.PrimitiveTypes.Int32, widthColumn, heightColumn), adding(arrow.BinaryTypes.String, formatColumn),
)

// Columns implements dataset.Columner.
func (f *frames) Columns(in *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	var need []string
	for _, c := range want {
		if in.HasField(c) {
			need = append(need, c)
		}
	}
	if !slices.Contains(need, f.in) {
		need = append(need, f.in)
	}
	return need
}

// CommutesWithFilter implements dataset.FilterCommuter: the other columns are repeated as they are.
func (f *frames) CommutesWithFilter(columns []string) bool {
	return !slices.Contains(columns, f.in) && !slices.ContainsFunc(framesAdds, func(a arrow.Field) bool { return slices.Contains(columns, a.Name) })
}

// Check implements dataset.Spec.
func (f *frames) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	s := step{name: "frames", in: f.in, out: f.in, decode: &decodeStep{}, gives: block.Pixels, adds: framesAdds}
	return s.check(in[0])
}

// New implements dataset.Spec.
func (f *frames) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := f.Check(in)
	if err != nil {
		return nil, err
	}
	at, err := dataset.FieldIndex(in[0], f.in)
	if err != nil {
		return nil, err
	}
	return &framer{spec: f, out: out, image: at}, nil
}
