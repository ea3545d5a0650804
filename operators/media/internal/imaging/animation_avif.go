package imaging

import (
	"fmt"
	"math"
	"time"

	"github.com/sluice-data/sluice/operators/media/internal/avif"
)

// readAVIF reads the frames of an image sequence. A still has none.
func (a *Animation) readAVIF(data []byte, h Header, keep int) error {
	if h.heif == nil || !h.heif.sequence {
		return nil
	}
	f, err := readHEIF(data)
	if err != nil {
		return err
	}
	m, err := f.readMovie(Limits{}) // the header passed the limits
	if err != nil {
		return err
	}
	a.movie, a.Count = m, m.frames()
	for i := range min(keep, a.Count) {
		p := framePart{at: Rect{W: a.W, H: a.H}}
		if i < len(m.colour.durations) && m.colour.timescale > 0 {
			p.delay = time.Duration(math.Round(float64(m.colour.durations[i]) * float64(time.Second) / float64(m.colour.timescale)))
		}
		a.parts = append(a.parts, p)
	}
	return nil
}

// maxSequenceBytes bounds what the frames of a sequence take: the decoder gives all of them at once, and its memory has 32-bit addresses.
const maxSequenceBytes = 1 << 30

// movieFrames are the decoded frames of a sequence.
type movieFrames struct {
	w    *Worker
	h    Header
	pics *avif.Pictures
	err  error // of the frame after the last of pics
}

// nextOfMovie decodes the sequence when the first frame is asked for.
func (p *Player) nextOfMovie(i int) error {
	if p.movie == nil {
		info, n := p.h.heif, p.a.Count

		need := info.sandboxBytes(n)
		if need > maxSequenceBytes {
			return fmt.Errorf("%w: avif sequence of %d frames of %dx%d pixels takes %d bytes when decoded, above the limit of %d", ErrTooLarge, n, info.w, info.h,
				need, int64(maxSequenceBytes))
		}
		pics, err := p.w.sandbox.Decode(avif.Job{Data: p.data, All: true, Bytes: need, Time: info.patience(n), W: info.w, H: info.h, Frames: n})
		if err != nil {
			err = sandboxError(err, len(p.data))
		}
		p.movie = &movieFrames{p.w, p.h, pics, err}
	}
	m := p.movie
	done := 0
	if m.pics != nil {
		done = m.pics.Len()
	}
	if done < len(p.a.parts) {
		return fmt.Errorf("frame %d: %w", done, m.err)
	}
	return nil
}

func (m *movieFrames) picture(i int) (*Image, error) {
	out := m.w.fromSandbox(m.pics, i, m.h.heif)
	out.Orient, out.Profile = m.h.Orientation, m.h.icc
	return out, nil
}
