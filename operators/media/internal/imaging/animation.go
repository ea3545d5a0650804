package imaging

import (
	"fmt"
	"time"
)

// Animation is the structure of a file with frames, read before any of them is decoded. A still picture has one frame.
type Animation struct {
	// Count is the number of frames in the file.
	Count int
	// W and H are the size of the canvas, on which frames are laid; that of the header, before it is turned.
	W, H  int
	parts []framePart // of the first frames: as many as were asked for
	still bool        // not animated: decoded as any picture is
	saves bool        // a frame among parts is taken back to what was there before
	movie *heifMovie  // AVIF
	head  []byte      // of a GIF or PNG: what each frame needs of the file
}

// What happens to a frame's area before the next frame.
const (
	leaveFrame uint8 = iota
	clearFrame
	restoreFrame
)

// framePart is one frame as it is stored: it covers part of the canvas.
type framePart struct {
	at       Rect
	delay    time.Duration
	after    uint8
	over     bool // laid over what is there, by its alpha; else it takes its place
	from, to int  // its bytes in the file
	control  int  // of GIF: where its control block is, 0 if it has none
}

// ReadAnimation reads the structure of the file whose header is h: how many frames it has, and where the first keep of them are. A file that breaks off
// is found here.
func ReadAnimation(data []byte, h Header, keep int) (a *Animation, err error) {
	defer recoverDecoder(&err)
	w, ht := h.stored()
	a = &Animation{W: w, H: ht}
	switch h.Format {
	case GIF:
		err = a.readGIF(data, keep)
	case WebP:
		err = a.readWebP(data, keep)
	case PNG:
		err = a.readPNG(data, keep)
	case AVIF:
		err = a.readAVIF(data, h, keep)
	}
	if err != nil {
		return nil, err
	}
	if a.Count == 0 {
		a.Count, a.still = 1, true
		if keep > 0 {
			a.parts = []framePart{{at: Rect{W: w, H: ht}}}
		}
	}
	return a, nil
}

// Streams reports whether frames are decoded one by one. Otherwise a damaged one is found before the first is given.
func (a *Animation) Streams() bool { return a.movie == nil }

// Time returns when frame i begins, counted from the first, and how long it is shown.
func (a *Animation) Time(i int) (at, delay time.Duration) {
	for _, p := range a.parts[:i] {
		at += p.delay
	}
	return at, a.parts[i].delay
}

// add takes a frame over and checks its place.
func (a *Animation) add(f Format, p framePart, keep int) error {
	if !p.at.inside(a.W, a.H) {
		return fmt.Errorf("%w: frame %d of %dx%d at %d,%d leaves the %s canvas of %dx%d", ErrCorrupt, a.Count, p.at.W, p.at.H, p.at.X, p.at.Y, f, a.W, a.H)
	}
	if a.Count < keep {
		a.parts = append(a.parts, p)
		a.saves = a.saves || p.after == restoreFrame
	}
	a.Count++
	return nil
}

// NeedFrameBytes bounds the memory that playing an animation takes outside of Arrow's buffers.
func (w *Worker) NeedFrameBytes(a *Animation, h Header, mode Mode) int64 {
	if a.still {
		return w.NeedBytes(&Program{Mode: mode}, h)
	}
	px := int64(a.W) * int64(a.H)
	if a.movie != nil {
		return h.heif.sandboxBytes(a.Count) + px*24 + needKernels
	}
	need := px * (4 + 16 + 8) // the canvas, a frame with its decoder's picture, and what is handed out
	if a.saves {
		need += px * 4
	}
	return need + needKernels
}

// Player decodes the frames of an animation in order.
type Player struct {
	w      *Worker
	a      *Animation
	data   []byte
	h      Header
	next   int
	canvas *Image
	saved  []byte
	last   framePart
	slab   int
	off    int
	movie  *movieFrames
}

// Play begins an animation whose first frames were kept. The worker must not be used for anything else until the last frame.
func (w *Worker) Play(a *Animation, data []byte, h Header) *Player {
	w.Reset()
	p := &Player{w: w, a: a, data: data, h: h}
	if !a.still && a.movie == nil {
		p.canvas = w.newImage(a.W, a.H, RGBA, 8, Chroma444)
		clear(p.canvas.Pix[0])
		p.canvas.Orient, p.canvas.Profile = h.Orientation, h.icc
		if a.saves {
			p.saved = w.scratch.alloc(len(p.canvas.Pix[0]))
		}
	}
	p.slab, p.off = w.scratch.mark()
	return p
}

// Next decodes the next frame. Its picture is asked for with Picture, or passed over.
func (p *Player) Next() (err error) {
	defer recoverDecoder(&err)
	p.w.scratch.release(p.slab, p.off)
	i := p.next
	p.next++
	if p.a.still {
		return nil
	}
	if p.a.movie != nil {
		return p.nextOfMovie(i)
	}
	part := p.a.parts[i]
	if i > 0 {
		p.settle(p.last)
	}
	var m *Image
	switch p.h.Format {
	case GIF:
		m, err = p.w.gifFrame(p.a, part, p.data)
	case WebP:
		m, err = p.w.webpFrameImage(part, p.data)
	default:
		m, err = p.w.pngFrame(p.a, part, p.data)
	}
	if err == nil && (m.W != part.at.W || m.H != part.at.H) {
		err = fmt.Errorf("%w: it is %dx%d, its file says %dx%d", ErrCorrupt, m.W, m.H, part.at.W, part.at.H)
	}
	if err != nil {
		return fmt.Errorf("frame %d: %w", i, err)
	}
	if part.after == restoreFrame {
		copy(p.saved, p.canvas.Pix[0])
	}
	if m.Depth == 16 {
		m = p.w.toDepth8(m)
	}
	p.lay(p.w.toRGBA(m), part)
	p.last = part
	return nil
}

// Picture returns the whole picture as it is shown with the frame, in the given mode, until the call of Next.
func (p *Player) Picture(mode Mode) (m *Image, err error) {
	defer recoverDecoder(&err)
	switch {
	case p.a.still:
		m, err = p.w.Decode(p.data, p.h, DecodeOptions{Mode: mode, Packed: true})
	case p.a.movie != nil:
		m, err = p.movie.picture(p.next - 1)
		if err == nil {
			m = p.w.applyMode(m, mode)
		}
	default:
		m = p.w.applyMode(p.canvas, mode)
	}
	if err != nil {
		return nil, err
	}
	return p.w.Finish(m, mode), nil
}

// settle does what is to happen to the area of a frame when it has been shown.
func (p *Player) settle(part framePart) {
	switch part.after {
	case clearFrame:
		for y := part.at.Y; y < part.at.Y+part.at.H; y++ {
			clear(p.canvas.Pix[0][y*p.canvas.Stride[0]+part.at.X*4:][:part.at.W*4])
		}
	case restoreFrame:
		copy(p.canvas.Pix[0], p.saved)
	}
}

// lay puts a frame on the canvas.
func (p *Player) lay(m *Image, part framePart) {
	for y := range m.H {
		src := m.Pix[0][y*m.Stride[0]:][:m.W*4]
		dst := p.canvas.Pix[0][(part.at.Y+y)*p.canvas.Stride[0]+part.at.X*4:][:m.W*4]
		if !part.over {
			copy(dst, src)
			continue
		}
		for x := 0; x < len(src); x += 4 {
			switch src[x+3] {
			case 0:
			case 255:
				copy(dst[x:x+4], src[x:])
			default:
				blend(dst[x:x+4:x+4], src[x:x+4:x+4])
			}
		}
	}
}

// blend lays s over d, neither multiplied by alpha.
func blend(d, s []byte) {
	sa, da := uint32(s[3]), uint32(d[3])
	under := da * (255 - sa) // of 255*255
	a := sa*255 + under
	for c := range 3 {
		d[c] = byte((uint32(s[c])*sa*255 + uint32(d[c])*under + a/2) / a)
	}
	d[3] = byte((a + 127) / 255)
}
