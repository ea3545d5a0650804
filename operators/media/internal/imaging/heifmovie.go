package imaging

import (
	"encoding/binary"
	"fmt"
)

// maxSamples bounds the frames of an image sequence; a table of them may take no bytes at all.
const maxSamples = 1 << 17

// heifTrack is one track of an image sequence (14496-12, chapter 8): its pictures, or their alpha.
type heifTrack struct {
	w, h      int
	aux       bool // it belongs to another track
	timescale uint32
	entry     string // kind of its sample entry
	config    []byte // av1C
	icc       []byte
	sizes     []uint32
	chunks    []uint64
	perChunk  []chunkRun
	durations []uint32 // of each frame, in parts of a second by timescale
}

// chunkRun says how many samples the chunks from first on have.
type chunkRun struct{ first, samples uint32 }

// heifMovie is an image sequence.
type heifMovie struct {
	file   *heifFile
	colour *heifTrack
	alpha  *heifTrack
	coded  heifInfo
}

// readMovie reads the tracks of a sequence and checks the sizes of their pictures.
func (f *heifFile) readMovie(limits Limits) (*heifMovie, error) {
	m := &heifMovie{file: f}
	var inner error
	err := walkBoxes(f.movie, func(kind string, body []byte) bool {
		if kind != "trak" {
			return true
		}
		t := &heifTrack{}
		if inner = t.read(body); inner != nil {
			return false
		}
		switch {
		case t.aux && m.alpha == nil:
			m.alpha = t
		case !t.aux && t.entry != "" && m.colour == nil:
			m.colour = t
		}
		return true
	})
	if inner != nil {
		err = inner
	}
	switch {
	case err != nil:
		return nil, err
	case m.colour == nil:
		return nil, fmt.Errorf("%w: sequence has no track of pictures", ErrCorrupt)
	case m.colour.entry != "av01":
		return nil, fmt.Errorf("%w: sequence of kind %q; only those of AV1 (AVIF) are decoded", ErrUnsupported, m.colour.entry)
	}
	m.coded = heifInfo{format: AVIF, w: m.colour.w, h: m.colour.h}
	if err := limits.checkPixels(AVIF, m.colour.w, m.colour.h); err != nil {
		return nil, err
	}
	for _, t := range []*heifTrack{m.colour, m.alpha} {
		if t != nil {
			if err := m.check(t, limits); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// frames is how many pictures the sequence has.
func (m *heifMovie) frames() int { return len(m.colour.sizes) }

// info describes the first picture.
func (m *heifMovie) info() *heifInfo {
	info := m.coded
	info.turned, info.icc, info.alpha, info.sequence, info.bytes = 1, m.colour.icc, m.alpha != nil, true, len(m.file.data)
	info.av1Config(m.colour.config)
	return &info
}

// check looks at the samples of a track: they must be in the file, and no larger than the limits.
func (m *heifMovie) check(t *heifTrack, limits Limits) error {
	if len(t.sizes) == 0 || len(t.chunks) == 0 || len(t.config) < 4 {
		return fmt.Errorf("%w: track of the sequence has no pictures", ErrCorrupt)
	}
	size, err := av1Size(t.config[4:])
	if err != nil {
		return err
	}
	data := m.file.data
	sample, run := 0, 0
	for c, at := range t.chunks {
		for run+1 < len(t.perChunk) && t.perChunk[run+1].first <= uint32(c)+1 {
			run++
		}
		n := uint32(1)
		if run < len(t.perChunk) {
			n = t.perChunk[run].samples
		}
		for ; n > 0 && sample < len(t.sizes); n-- {
			length := uint64(t.sizes[sample])
			if at > uint64(len(data)) || length > uint64(len(data))-at {
				return fmt.Errorf("%w: file ends after %d bytes, frame %d needs bytes %d to %d", ErrTruncated, len(data), sample, at, at+length)
			}
			s, err := av1Size(data[at : at+length])
			if err != nil {
				return err
			}
			size.grow(s)
			at += length
			sample++
		}
	}
	if sample < len(t.sizes) {
		return fmt.Errorf("%w: sequence lists %d frames and has places for %d", ErrCorrupt, len(t.sizes), sample)
	}
	return m.coded.count(size, limits)
}

// read reads a trak box.
func (t *heifTrack) read(body []byte) (err error) {
	walk := walkBoxes(body, func(kind string, body []byte) bool {
		switch kind {
		case "tkhd":
			if len(body) >= 8 {
				t.w = int(binary.BigEndian.Uint32(body[len(body)-8:]) >> 16)
				t.h = int(binary.BigEndian.Uint32(body[len(body)-4:]) >> 16)
			}
		case "tref":
			err = walkBoxes(body, func(kind string, _ []byte) bool {
				t.aux = t.aux || kind == "auxl"
				return true
			})
		case "mdia", "minf", "stbl":
			err = t.read(body)
		case "mdhd":
			c := fields{b: body}
			if v, _ := c.version(); v == 1 {
				c.take(16)
			} else {
				c.take(8)
			}
			t.timescale = uint32(c.uint(4))
			err = c.err(kind)
		case "stsd":
			err = t.readEntry(body)
		case "stsz":
			err = t.readSizes(body)
		case "stco", "co64":
			err = t.readChunks(kind, body)
		case "stsc":
			c := fields{b: body}
			c.version()
			for range c.uint(4) {
				r := chunkRun{uint32(c.uint(4)), uint32(c.uint(4))}
				if c.uint(4); c.short {
					break
				}
				t.perChunk = append(t.perChunk, r)
			}
			err = c.err(kind)
		case "stts":
			err = t.readTimes(body)
		}
		return err == nil
	})
	if err == nil {
		err = walk
	}
	return err
}

// readEntry reads what kind of pictures a track has, and how to decode them.
func (t *heifTrack) readEntry(body []byte) error {
	const fixed = 78 // of a visual sample entry, before its boxes
	c := fields{b: body}
	c.version()
	c.uint(4)
	return walkBoxes(c.b, func(kind string, body []byte) bool {
		t.entry = kind
		if len(body) < fixed {
			return false
		}
		_ = walkBoxes(body[fixed:], func(kind string, body []byte) bool {
			switch kind {
			case "av1C":
				t.config = body
			case "colr":
				if icc := colourProfile(heifProperty{kind, body}); icc != nil {
					t.icc = icc
				}
			}
			return true
		})
		return false // the first describes the track
	})
}

func (t *heifTrack) readSizes(body []byte) error {
	c := fields{b: body}
	c.version()
	each, n := uint32(c.uint(4)), c.uint(4)
	if n > maxSamples {
		return fmt.Errorf("%w: sequence has %d frames, above the limit of %d", ErrTooLarge, n, maxSamples)
	}
	if each == 0 && n*4 > uint64(len(c.b)) {
		c.short = true
		return c.err("stsz")
	}
	t.sizes = make([]uint32, n)
	for i := range t.sizes {
		if t.sizes[i] = each; each == 0 {
			t.sizes[i] = uint32(c.uint(4))
		}
	}
	return c.err("stsz")
}

func (t *heifTrack) readChunks(kind string, body []byte) error {
	wide := 4
	if kind == "co64" {
		wide = 8
	}
	c := fields{b: body}
	c.version()
	n := c.uint(4)
	if n*uint64(wide) > uint64(len(c.b)) {
		c.short = true
		return c.err(kind)
	}
	t.chunks = make([]uint64, n)
	for i := range t.chunks {
		t.chunks[i] = c.uint(wide)
	}
	return nil
}

func (t *heifTrack) readTimes(body []byte) error {
	c := fields{b: body}
	c.version()
	for range c.uint(4) {
		n, each := c.uint(4), uint32(c.uint(4))
		if c.short {
			break
		}
		if n > maxSamples || len(t.durations)+int(n) > maxSamples {
			return fmt.Errorf("%w: sequence has times of more than %d frames", ErrTooLarge, maxSamples)
		}
		for range n {
			t.durations = append(t.durations, each)
		}
	}
	return c.err("stts")
}
