package media

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// InputRule says how pictures become the input of a model.
type InputRule struct {
	Width, Height int
	// Fit is "exact" (stretched), "fill" (covers, cropped around the centre), "height" (as high as Height, in proportion, at most
	// Width wide, then padded on the right to a multiple of Multiple), or "limit" (in proportion, no side above Width, both sides a
	// multiple of Multiple).
	Fit      string
	Share    float64 // of "fill": the share of the shorter side that is kept; 0 means all
	Multiple int
	Grey     bool // one channel
	BGR      bool
	HWC      bool      // channels last
	Mean     []float32 // in grey levels 0 to 255, one or one a channel; a sample becomes (sample - mean) / std
	Std      []float32
	MaxBytes int64 // of a file; 0: the default of decode
}

// Channels is the number of planes that a picture gives.
func (r *InputRule) Channels() int {
	if r.Grey {
		return 1
	}
	return 3
}

// Most is the largest size of a tensor.
func (r *InputRule) Most() (w, h int) {
	mult := max(1, r.Multiple)
	up := func(n int) int { return (n + mult - 1) / mult * mult }
	switch r.Fit {
	case "height":
		return up(r.Width), r.Height
	case "limit":
		return up(r.Width), up(r.Width)
	}
	return r.Width, r.Height
}

// Validate says what is wrong with a rule.
func (r *InputRule) Validate() error {
	const most = 1 << 14
	switch {
	case r.Width < 1 || r.Width > most || r.Fit != "limit" && (r.Height < 1 || r.Height > most):
		return fmt.Errorf("width and height must be 1 to %d, not %dx%d", most, r.Width, r.Height)
	case r.Fit != "exact" && r.Fit != "fill" && r.Fit != "height" && r.Fit != "limit":
		return fmt.Errorf("fit %q is none of exact, fill, height, limit", r.Fit)
	case r.Share < 0 || r.Share > 1:
		return fmt.Errorf("share %v is not between 0 and 1", r.Share)
	case r.Multiple < 0 || r.Multiple > most:
		return fmt.Errorf("multiple %d is not between 1 and %d", r.Multiple, most)
	}
	for _, v := range [][]float32{r.Mean, r.Std} {
		if len(v) > 1 && len(v) != r.Channels() {
			return fmt.Errorf("mean and std have one value, or one a channel (%d), not %d", r.Channels(), len(v))
		}
	}
	for _, v := range r.Std {
		if v == 0 {
			return errors.New("std must not be 0")
		}
	}
	return nil
}

// Input makes inputs of a model out of the pictures of a column. It belongs to one goroutine.
type Input struct {
	rule    InputRule
	encoded bool
	worker  *imaging.Worker
	table   [3][256]float32
	cells   *cells
	column  arrow.Array // that cells read
	// elsewhere decodes in another process; nil: it is done here.
	elsewhere *Elsewhere
}

// NewInput makes an Input for columns of type dt: encoded pictures, binary, or pixels.
func NewInput(rule InputRule, dt arrow.DataType) (*Input, error) {
	encoded, err := IsPicture(dt)
	if err != nil {
		return nil, err
	}
	in := &Input{rule: rule, encoded: encoded, worker: imaging.NewWorker()}
	at := func(v []float32, c int, otherwise float32) float32 {
		switch len(v) {
		case 0:
			return otherwise
		case 1:
			return v[0]
		}
		return v[c]
	}
	for c := range in.table {
		for v := range in.table[c] {
			in.table[c][v] = (float32(v) - at(rule.Mean, c, 0)) / at(rule.Std, c, 1)
		}
	}
	return in, nil
}

// DecodeElsewhere has encoded pictures decoded there, if e is not nil.
func (in *Input) DecodeElsewhere(e *Elsewhere) { in.elsewhere = e }

// IsPicture says whether a column of type dt holds pictures, and whether they are encoded.
func IsPicture(dt arrow.DataType) (encoded bool, err error) {
	switch dt.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY:
		return true, nil
	case arrow.EXTENSION:
		switch dt.(arrow.ExtensionType).ExtensionName() {
		case "sluice.image":
			return true, nil
		case "sluice.pixels":
			return false, nil
		}
	}
	return false, fmt.Errorf("it is %s; pictures are image, binary or pixels", dt)
}

// Geometry is a picture and what it becomes.
type Geometry struct {
	Width, Height int // of the picture, upright
	W, H          int // of its tensor
	UsedW, UsedH  int // of what the picture fills of it, from the top left
	Scratch       int64
	header        imaging.Header
}

func (in *Input) read(column arrow.Array) error {
	if in.column == column {
		return nil
	}
	c, err := newCells(column, in.encoded)
	if err != nil {
		return err
	}
	in.cells, in.column = c, column
	return nil
}

// Measure reads the header of a picture. Errors are of the picture.
func (in *Input) Measure(column arrow.Array, row int) (Geometry, error) {
	if err := in.read(column); err != nil {
		return Geometry{}, err
	}
	if in.encoded {
		return in.measureFile(in.cells.file(row))
	}
	m, err := in.cells.pixels(row)
	if err != nil {
		return Geometry{}, err
	}
	g := Geometry{Width: m.W, Height: m.H}
	in.fit(&g)
	g.Scratch = in.worker.NeedPixelBytes(in.program(&g), m)
	return g, nil
}

func (in *Input) measureFile(file []byte) (Geometry, error) {
	limits := imaging.DefaultLimits
	if in.rule.MaxBytes > 0 {
		limits.MaxBytes = in.rule.MaxBytes
	}
	h, err := imaging.ReadHeader(file, limits)
	if err != nil {
		return Geometry{}, err
	}
	g := Geometry{Width: h.Width, Height: h.Height, header: h}
	in.fit(&g)
	g.Scratch = in.worker.NeedBytes(in.program(&g), h)
	return g, nil
}

// fit computes the sizes.
func (in *Input) fit(g *Geometry) {
	r := &in.rule
	mult := max(1, r.Multiple)
	up := func(n int) int { return (n + mult - 1) / mult * mult }
	switch r.Fit {
	case "height":
		w := int(math.Ceil(float64(r.Height) * float64(g.Width) / float64(g.Height)))
		g.UsedW, g.UsedH = min(max(w, 1), r.Width), r.Height
		g.W, g.H = up(g.UsedW), r.Height
	case "limit":
		scale := min(1, float64(r.Width)/float64(max(g.Width, g.Height)))
		near := func(n int) int { return max(mult, int(math.Round(float64(n)*scale/float64(mult)))*mult) }
		g.W, g.H = near(g.Width), near(g.Height)
		g.UsedW, g.UsedH = g.W, g.H
	default:
		g.W, g.H, g.UsedW, g.UsedH = r.Width, r.Height, r.Width, r.Height
	}
}

// program is the steps from the picture to pixels of the tensor's size.
func (in *Input) program(g *Geometry) *imaging.Program {
	r := &in.rule
	p := &imaging.Program{Mode: imaging.ModeRGB}
	if r.Grey {
		p.Mode = imaging.ModeGrey
	}
	if !in.encoded {
		p.Steps = append(p.Steps, imaging.ToMode{Mode: p.Mode})
	}
	if r.Fit == "fill" && r.Share > 0 {
		// The part that is kept has the proportions of the tensor and so much of the largest that fits.
		scale := min(float64(g.Width)/float64(r.Width), float64(g.Height)/float64(r.Height)) * r.Share
		w, h := max(1, int(math.Round(float64(r.Width)*scale))), max(1, int(math.Round(float64(r.Height)*scale)))
		p.Steps = append(p.Steps, imaging.Crop{W: min(w, g.Width), H: min(h, g.Height), Center: true})
	}
	fit := imaging.Exact
	if r.Fit == "fill" && r.Share == 0 {
		fit = imaging.Fill
	}
	p.Steps = append(p.Steps, imaging.Resize{W: g.UsedW, H: g.UsedH, Fit: fit})
	return p
}

// Fill writes the tensor of a picture: g.W*g.H*Channels values. What the picture does not cover is 0.
func (in *Input) Fill(ctx context.Context, dst []float32, column arrow.Array, row int, g Geometry) error {
	if err := in.read(column); err != nil {
		return err
	}
	switch {
	case in.encoded && in.elsewhere != nil:
		return in.elsewhere.tensor(ctx, dst, in.cells.file(row))
	case in.encoded:
		return in.fillFile(dst, in.cells.file(row), g)
	}
	m, err := in.cells.pixels(row)
	if err != nil {
		return err
	}
	in.worker.Reset()
	res, err := in.worker.RunPixels(in.program(&g), m)
	if err != nil {
		return err
	}
	return in.write(dst, res.Image, g)
}

// fillFile writes the tensor of an encoded picture.
func (in *Input) fillFile(dst []float32, file []byte, g Geometry) error {
	in.worker.Reset()
	res, err := in.worker.Run(in.program(&g), file, g.header)
	if err != nil {
		return err
	}
	return in.write(dst, res.Image, g)
}

// write turns pixels of the tensor's size into values.
func (in *Input) write(dst []float32, m *imaging.Image, g Geometry) error {
	ch := in.rule.Channels()
	if m.W != g.UsedW || m.H != g.UsedH || m.Model.Channels() != ch || m.Depth != 8 {
		return fmt.Errorf("make tensor: the picture became %dx%d %s", m.W, m.H, m.Model)
	}
	if len(dst) != g.W*g.H*ch {
		return fmt.Errorf("make tensor: %d values for %dx%d with %d channels", len(dst), g.W, g.H, ch)
	}
	if g.UsedW < g.W || g.UsedH < g.H {
		clear(dst)
	}
	for c := range ch {
		from := c
		if in.rule.BGR && ch == 3 {
			from = 2 - c
		}
		base, step, line := c*g.W*g.H, 1, g.W
		if in.rule.HWC {
			base, step, line = c, ch, g.W*ch
		}
		table := &in.table[c]
		for y := range m.H {
			row := m.Pix[0][y*m.Stride[0]:][:m.W*ch]
			at := base + y*line
			for x := from; x < len(row); x += ch {
				dst[at] = table[row[x]]
				at += step
			}
		}
	}
	return nil
}

// Close frees native handles and scratch memory.
func (in *Input) Close() { in.worker.Close() }
