package imaging

import (
	"encoding/binary"
	"fmt"
)

// Layout is the order of a tensor's axes.
type Layout uint8

// The layouts: CHW has one plane a channel, HWC keeps the channels of a pixel together.
const (
	CHW Layout = iota
	HWC
)

// ParseLayout reads a layout's name.
func ParseLayout(s string) (Layout, error) {
	switch s {
	case "", "chw":
		return CHW, nil
	case "hwc":
		return HWC, nil
	}
	return 0, fmt.Errorf("layout %q is unknown; want chw or hwc", s)
}

// Normalizer maps a sample s of channel c, scaled to 0..1, to (s - mean[c]) / std[c].
type Normalizer struct {
	layout   Layout
	channels int
	scale    []float32
	shift    []float32
	table    [][256]float32
}

// NewNormalizer makes a normalizer for pictures of so many channels. mean and std have one value, one a
// channel, or none for 0 and 1.
func NewNormalizer(layout Layout, channels int, mean, std []float32) (*Normalizer, error) {
	n := &Normalizer{layout: layout, channels: channels, scale: make([]float32, channels), shift: make([]float32, channels), table: make([][256]float32, channels)}
	for c := range channels {
		mu, err := channelValue("mean", mean, c, channels, 0)
		if err != nil {
			return nil, err
		}
		sigma, err := channelValue("std", std, c, channels, 1)
		if err != nil {
			return nil, err
		}
		if sigma == 0 {
			return nil, fmt.Errorf("std of channel %d is 0", c)
		}
		n.scale[c], n.shift[c] = 1/sigma, -mu/sigma
		for v := range n.table[c] {
			n.table[c][v] = (float32(v)/255 - mu) / sigma
		}
	}
	return n, nil
}

func channelValue(name string, values []float32, c, channels int, otherwise float32) (float32, error) {
	switch len(values) {
	case 0:
		return otherwise, nil
	case 1:
		return values[0], nil
	case channels:
		return values[c], nil
	}
	return 0, fmt.Errorf("%s has %d values; want 1 or %d, one a channel", name, len(values), channels)
}

// Fill writes the tensor of a packed, upright picture into dst, which has W*H*channels values.
func (n *Normalizer) Fill(dst []float32, m *Image) error {
	if m.Model == YCbCr || m.Model.Channels() != n.channels {
		return fmt.Errorf("make tensor: picture is %s, want %d channels", m.Model, n.channels)
	}
	if len(dst) != m.W*m.H*n.channels {
		return fmt.Errorf("make tensor: %dx%d with %d channels does not fit %d values", m.W, m.H, n.channels, len(dst))
	}
	for c := range n.channels {
		at, step := c, n.channels
		if n.layout == CHW {
			at, step = c*m.W*m.H, 1
		}
		for y := range m.H {
			row := m.Pix[0][y*m.Stride[0]:][:m.W*m.bytesPerPixel()]
			n.fillRow(dst[at:], step, row, c, m)
			at += m.W * step
		}
	}
	return nil
}

func (n *Normalizer) fillRow(dst []float32, step int, row []byte, c int, m *Image) {
	at := 0
	if m.Depth == 16 {
		for x := range m.W {
			v := float32(binary.LittleEndian.Uint16(row[(x*n.channels+c)*2:])) / 65535
			dst[at] = v*n.scale[c] + n.shift[c]
			at += step
		}
		return
	}
	table := &n.table[c]
	for x := c; x < len(row); x += n.channels {
		dst[at] = table[row[x]]
		at += step
	}
}
