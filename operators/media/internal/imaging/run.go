package imaging

// Run decodes a picture whose header was read and runs the program on it.
func (w *Worker) Run(p *Program, data []byte, h Header) (Result, error) {
	g, done, resized, err := geometry(p.Steps, h.Width, h.Height)
	if err != nil {
		return Result{}, err
	}
	opt := DecodeOptions{Mode: p.Mode, Scale: 1}
	if resized {
		opt.Scale = ScaleFor(g)
	} else {
		opt.Packed = done == len(p.Steps) // nothing but pixels is wanted
	}
	m, err := w.Decode(data, h, opt)
	if err != nil {
		return Result{}, err
	}
	if done > 0 {
		if m, err = w.Resample(m, g, nextChroma(p.Steps[done:])); err != nil {
			return Result{}, err
		}
	}
	return w.steps(p.Steps[done:], m, p.Mode)
}

// RunPixels runs the steps of a program on a picture that was decoded before.
func (w *Worker) RunPixels(p *Program, m *Image) (Result, error) {
	return w.steps(p.Steps, m, ModeKeep)
}

// nextChroma is the subsampling that the steps after a resample want: that of the encoder if there is nothing but
// measuring before it, else none.
func nextChroma(steps []Step) Chroma {
	for _, s := range steps {
		switch s := s.(type) {
		case Hash, Measure:
		case Compress:
			return s.Options.Chroma()
		default:
			return Chroma444
		}
	}
	return Chroma444
}

// steps runs what is left of a program on a decoded picture of the given mode.
func (w *Worker) steps(steps []Step, m *Image, mode Mode) (res Result, err error) {
	for len(steps) > 0 {
		switch s := steps[0].(type) {
		case Hash:
			if res.Hash, err = w.PerceptualHash(m, s.Method); err != nil {
				return res, err
			}
		case Measure:
			res.Scores = w.Score(m)
		case ToMode:
			m, mode = w.applyMode(w.promised(m, mode), s.Mode), s.Mode
		case Compress:
			res.Data, err = w.Encode(w.promised(m, mode), s.Options)
			return res, err
		default:
			uw, uh := m.UprightSize()
			g, done, _, err := geometry(steps, uw, uh)
			if err != nil {
				return res, err
			}
			if m, err = w.Resample(m, g, nextChroma(steps[done:])); err != nil {
				return res, err
			}
			steps = steps[done:]
			continue
		}
		steps = steps[1:]
	}
	res.Image = w.Finish(m, mode)
	return res, nil
}

// promised gives a grey picture the colour channels that its mode promises, since a later step may ask what
// the pixels are. Everything else that a mode promises was settled when decoding.
func (w *Worker) promised(m *Image, mode Mode) *Image {
	if mode != ModeRGB || m.Model != Grey {
		return m
	}
	out := w.newImage(m.W, m.H, YCbCr, 8, Chroma420)
	out.SrcW, out.SrcH, out.Scale, out.Orient, out.Profile = m.SrcW, m.SrcH, m.Scale, m.Orient, m.Profile
	for y := range m.H {
		copy(out.Pix[0][y*out.Stride[0]:][:m.W], m.Pix[0][y*m.Stride[0]:])
	}
	for i := 1; i < 3; i++ {
		for k := range out.Pix[i] {
			out.Pix[i][k] = 128
		}
	}
	return out
}
