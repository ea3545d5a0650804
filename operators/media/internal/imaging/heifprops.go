package imaging

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// readProperties reads the list of properties and which items have them.
func (f *heifFile) readProperties(body []byte) (err error) {
	walk := walkBoxes(body, func(kind string, body []byte) bool {
		switch kind {
		case "ipco":
			err = walkBoxes(body, func(kind string, body []byte) bool {
				f.props = append(f.props, heifProperty{kind, body})
				return true
			})
		case "ipma":
			err = f.associate(body)
		}
		return err == nil
	})
	if err == nil {
		err = walk
	}
	return err
}

func (f *heifFile) associate(body []byte) error {
	c := fields{b: body}
	v, flags := c.version()
	wide := 2
	if v > 0 {
		wide = 4
	}
	for range c.uint(4) {
		id := uint32(c.uint(wide))
		count := c.uint(1)
		if c.short {
			break
		}
		it, err := f.item(id)
		if err != nil {
			return err
		}
		for range count {
			at := 0
			if flags&1 == 1 {
				at = int(c.uint(2) & 0x7fff)
			} else {
				at = int(c.uint(1) & 0x7f)
			}
			if at > 0 {
				it.props = append(it.props, at-1)
			}
		}
	}
	return c.err("ipma")
}

// each calls g with the properties of an item, in the order in which they apply.
func (f *heifFile) each(it *heifItem, g func(p heifProperty)) {
	for _, at := range it.props {
		if at < len(f.props) {
			g(f.props[at])
		}
	}
}

// isAlpha reports whether an auxiliary item is alpha, not a depth map or a gain map.
func (f *heifFile) isAlpha(it *heifItem) (yes bool) {
	f.each(it, func(p heifProperty) {
		if p.kind == "auxC" && len(p.body) > 4 {
			kind, _, _ := strings.Cut(string(p.body[4:]), "\x00")
			yes = yes || kind == "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha" || kind == "urn:mpeg:hevc:2015:auxid:1"
		}
	})
	return yes
}

// transform is what the properties of an item do to its pixels: a cut, then, as EXIF has it, a mirror and quarter turns.
type transform struct {
	cut      Rect // no width: all
	mirrored bool // left to right, before turning
	turns    int  // counter-clockwise quarters, 0 to 3
}

// orientation is the EXIF orientation that turns and mirrors alike.
func (t transform) orientation() int {
	if t.mirrored {
		return [4]int{2, 5, 4, 7}[t.turns]
	}
	return [4]int{1, 8, 3, 6}[t.turns]
}

// apply adds a property (23008-12, 6.5.9 to 6.5.12) of a picture of w x h pixels.
func (t *transform) apply(p heifProperty, w, h int) error {
	c := fields{b: p.body}
	switch p.kind {
	case "irot":
		t.turns = (t.turns + int(c.uint(1)&3)) & 3
	case "imir":
		// Axis 1 exchanges left and right, axis 0 top and bottom, which is the former and half a turn.
		leftRight := c.uint(1)&1 == 1
		t.mirrored, t.turns = !t.mirrored, (4-t.turns)&3
		if !leftRight {
			t.turns = (t.turns + 2) & 3
		}
	case "clap":
		if t.turns != 0 || t.mirrored || t.cut.W != 0 {
			return fmt.Errorf("%w: picture is cut after it was turned", ErrUnsupported)
		}
		var err error
		if t.cut, err = aperture(&c, w, h); err != nil {
			return err
		}
	}
	return c.err(p.kind)
}

// aperture reads a clean aperture (14496-12, 12.1.4): the size of what is shown, and how far its centre is from that of the picture.
func aperture(c *fields, w, h int) (Rect, error) {
	side := func(whole int) (at, n int, ok bool) {
		num, den := int64(int32(c.uint(4))), int64(int32(c.uint(4)))
		if den <= 0 || num <= 0 || num%den != 0 {
			return 0, 0, false
		}
		return 0, int(num / den), true
	}
	_, cw, ok1 := side(w)
	_, ch, ok2 := side(h)
	offset := func(whole, n int) (int, bool) {
		num, den := int64(int32(c.uint(4))), int64(int32(c.uint(4)))
		if den <= 0 {
			return 0, false
		}
		// (whole-1)/2 + num/den - (n-1)/2, in halves
		twice := int64(whole-n)*den + 2*num
		return int(twice / (2 * den)), twice >= 0
	}
	x, ok3 := offset(w, cw)
	y, ok4 := offset(h, ch)
	r := Rect{x, y, cw, ch}
	if c.short || !ok1 || !ok2 || !ok3 || !ok4 || !r.inside(w, h) {
		return r, fmt.Errorf("%w: clean aperture leaves the picture of %dx%d", ErrCorrupt, w, h)
	}
	return r, nil
}

// spatial reads an ispe property.
func spatial(p heifProperty) (w, h int, ok bool) {
	if p.kind != "ispe" || len(p.body) < 12 {
		return 0, 0, false
	}
	w, h = int(binary.BigEndian.Uint32(p.body[4:])), int(binary.BigEndian.Uint32(p.body[8:]))
	return w, h, true
}

// colourProfile returns the ICC profile of a colr property, if it has one.
func colourProfile(p heifProperty) []byte {
	if p.kind != "colr" || len(p.body) <= 4 || len(p.body) > maxProfileBytes {
		return nil
	}
	if kind := string(p.body[:4]); kind != "prof" && kind != "rICC" {
		return nil
	}
	return p.body[4:]
}
