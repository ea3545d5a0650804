package imaging

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// heifBrands are the brands of files that hold pictures (ISO/IEC 23008-12 annex B, AVIF 1.1 section 6).
var heifBrands = []string{"avif", "avis", "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "mif2", "msf1", "miaf", "MiHE", "1pic"}

// brands lists the brands of an ISO base media file, the major one first; none if it is no such file.
func brands(data []byte) []string {
	if len(data) < 16 || string(data[4:8]) != "ftyp" {
		return nil
	}
	end := min(int(min(binary.BigEndian.Uint32(data), 4096)), len(data))
	out := []string{string(data[8:12])}
	for at := 16; at+4 <= end; at += 4 {
		out = append(out, string(data[at:at+4]))
	}
	return out
}

// isHEIF reports whether data begins as a HEIF or AVIF file does. Which of the two it is, the items say.
func isHEIF(data []byte) bool {
	return slices.ContainsFunc(brands(data), func(b string) bool { return slices.Contains(heifBrands, b) })
}

// heifItem is a picture of a HEIF file, or a part of one.
type heifItem struct {
	kind      string
	props     []int // places among the properties of the file, in the order in which they apply
	inIdat    bool
	elsewhere bool // its bytes are in another file, or made of other items
	extents   []heifExtent
	parts     []uint32 // what a derived item is made of
	alpha     uint32   // the item that holds its alpha, 0 if none
	prem      bool     // its colours are multiplied by alpha
}

// heifExtent is a stretch of bytes; no length means all that follows.
type heifExtent struct{ at, n uint64 }

type heifProperty struct {
	kind string
	body []byte
}

// heifFile is the structure of a HEIF file, without its pictures.
type heifFile struct {
	data    []byte
	items   map[uint32]*heifItem
	primary uint32
	props   []heifProperty
	idat    []byte
	extents int
	movie   []byte // the moov box of an image sequence
}

// readHEIF reads the boxes of a file.
func readHEIF(data []byte) (*heifFile, error) {
	f := &heifFile{data: data, items: map[uint32]*heifItem{}}
	var inner error
	meta := false
	err := walkBoxes(data, func(kind string, body []byte) bool {
		switch kind {
		case "meta":
			if meta {
				inner = fmt.Errorf("%w: file has two meta boxes", ErrCorrupt)
			} else if len(body) >= 4 {
				meta = true
				inner = f.readMeta(body[4:])
			}
		case "moov":
			f.movie = body
		}
		return inner == nil
	})
	if inner != nil {
		return nil, inner
	}
	if err != nil {
		return nil, err
	}
	if !meta && f.movie == nil {
		return nil, fmt.Errorf("%w: file ends after %d bytes, before the box that lists its pictures", ErrTruncated, len(data))
	}
	return f, nil
}

// item returns the item of an id, made if it is new.
func (f *heifFile) item(id uint32) (*heifItem, error) {
	if it := f.items[id]; it != nil {
		return it, nil
	}
	if len(f.items) >= maxItems {
		return nil, fmt.Errorf("%w: more than %d items", ErrTooLarge, maxItems)
	}
	it := &heifItem{}
	f.items[id] = it
	return it, nil
}

func (f *heifFile) readMeta(body []byte) (err error) {
	walk := walkBoxes(body, func(kind string, body []byte) bool {
		switch kind {
		case "pitm":
			c := fields{b: body}
			n := 2
			if v, _ := c.version(); v > 0 {
				n = 4
			}
			f.primary = uint32(c.uint(n))
			err = c.err(kind)
		case "iinf":
			err = f.readInfos(body)
		case "iloc":
			err = f.readPlaces(body)
		case "iref":
			err = f.readReferences(body)
		case "iprp":
			err = f.readProperties(body)
		case "idat":
			f.idat = body
		}
		return err == nil
	})
	if err == nil {
		err = walk
	}
	return err
}

// readInfos reads the kinds of items.
func (f *heifFile) readInfos(body []byte) (err error) {
	c := fields{b: body}
	n := 2
	if v, _ := c.version(); v > 0 {
		n = 4
	}
	c.uint(n) // how many
	walk := walkBoxes(c.b, func(kind string, body []byte) bool {
		if kind != "infe" {
			return true
		}
		c := fields{b: body}
		v, _ := c.version()
		if v < 2 {
			return true // of a kind before HEIF
		}
		n := 2
		if v > 2 {
			n = 4
		}
		id := uint32(c.uint(n))
		c.take(2)
		name := string(c.take(4))
		var it *heifItem
		if err = c.err(kind); err == nil {
			it, err = f.item(id)
		}
		if err == nil {
			it.kind = name
		}
		return err == nil
	})
	if err == nil {
		err = walk
	}
	return err
}

// readPlaces reads where the bytes of items are.
func (f *heifFile) readPlaces(body []byte) error {
	c := fields{b: body}
	v, _ := c.version()
	sizes := c.uint(2)
	offset, length, base, index := int(sizes>>12), int(sizes>>8&15), int(sizes>>4&15), int(sizes&15)
	if max(offset, length, base, index) > 8 {
		return fmt.Errorf("%w: box \"iloc\" has numbers of more than 8 bytes", ErrCorrupt)
	}
	wide := 2
	if v > 1 {
		wide = 4
	}
	for range c.uint(wide) {
		id := uint32(c.uint(wide))
		method := uint64(0)
		if v > 0 {
			method = c.uint(2) & 15
		}
		elsewhere := c.uint(2) != 0
		from := c.uint(base)
		count := int(c.uint(2))
		if f.extents += count; f.extents > maxExtents {
			return fmt.Errorf("%w: items are spread over more than %d places", ErrTooLarge, maxExtents)
		}
		if c.short {
			break
		}
		it, err := f.item(id)
		if err != nil {
			return err
		}
		it.inIdat, it.elsewhere, it.extents = method == 1, elsewhere || method > 1, it.extents[:0]
		for range count {
			if v > 0 {
				c.uint(index)
			}
			at := c.uint(offset)
			it.extents = append(it.extents, heifExtent{from + at, c.uint(length)})
		}
	}
	return c.err("iloc")
}

// readReferences reads which item is made of, or belongs to, which.
func (f *heifFile) readReferences(body []byte) (err error) {
	c := fields{b: body}
	wide := 2
	if v, _ := c.version(); v > 0 {
		wide = 4
	}
	walk := walkBoxes(c.b, func(kind string, body []byte) bool {
		c := fields{b: body}
		from := uint32(c.uint(wide))
		var it *heifItem
		if it, err = f.item(from); err != nil {
			return false
		}
		for range c.uint(2) {
			to := uint32(c.uint(wide))
			if c.short {
				break
			}
			switch kind {
			case "dimg":
				it.parts = append(it.parts, to)
			case "auxl":
				var of *heifItem
				if of, err = f.item(to); err != nil {
					return false
				}
				if of.alpha == 0 {
					of.alpha = from // if it is alpha: its properties are not known yet
				}
			case "prem":
				it.prem = true
			}
		}
		err = c.err("iref")
		return err == nil
	})
	if err == nil {
		err = walk
	}
	return err
}

// bytes returns the contents of an item.
func (f *heifFile) bytes(id uint32, it *heifItem) ([]byte, error) {
	if it.elsewhere {
		return nil, fmt.Errorf("%w: the bytes of item %d are outside of the file", ErrUnsupported, id)
	}
	if len(it.extents) == 0 {
		return nil, fmt.Errorf("%w: item %d has no bytes", ErrCorrupt, id)
	}
	src := f.data
	if it.inIdat {
		src = f.idat
	}
	var all []byte
	for i, e := range it.extents {
		if e.at > uint64(len(src)) || e.n > uint64(len(src))-e.at {
			return nil, fmt.Errorf("%w: file ends after %d bytes, item %d needs bytes %d to %d", ErrTruncated, len(f.data), id, e.at, e.at+e.n)
		}
		part := src[e.at:]
		if e.n > 0 {
			part = part[:e.n]
		}
		if i == 0 {
			all = part[:len(part):len(part)]
			continue
		}
		if len(all)+len(part) > len(f.data) {
			return nil, fmt.Errorf("%w: item %d has more bytes than its file", ErrCorrupt, id)
		}
		all = append(all, part...)
	}
	return all, nil
}
