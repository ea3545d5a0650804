package imaging

import "fmt"

// heifInfo is what the boxes of a file say of the picture that it shows.
type heifInfo struct {
	format   Format // AVIF or HEIC, by the codec and not by the brand
	w, h     int    // of the picture, before it is cut and turned
	cut      Rect   // what is kept of it; no width: all
	turned   int    // EXIF orientation
	icc      []byte
	grey     bool
	alpha    bool
	prem     bool  // colours are multiplied by alpha
	depth    int   // bits of a sample: 8, 10 or 12
	coded    int64 // pixels that are decompressed, tiles and alpha included
	largest  int64 // of them in one piece
	bytes    int   // of the file
	derived  bool  // other than a grid
	sequence bool  // the file shows a sequence: its first picture
}

// maxCodedPictures bounds how often parts may refer to parts.
const (
	maxDerivations = 4
	maxTiles       = 1 << 16
	codedFactor    = 4 // coded pixels to shown pixels: alpha doubles them, padding of small tiles may do so again
)

// readHEIFInfo reads the structure of a file and checks the sizes that its pictures announce, those inside of the compressed streams included.
func readHEIFInfo(data []byte, limits Limits) (*heifInfo, error) {
	f, err := readHEIF(data)
	if err != nil {
		return nil, err
	}
	if f.movie != nil && (f.primary == 0 || brands(data)[0] == "avis") {
		m, err := f.readMovie(limits)
		if err != nil {
			return nil, err
		}
		return m.info(), nil
	}
	it := f.items[f.primary]
	if it == nil || it.kind == "" {
		return nil, fmt.Errorf("%w: file does not say which item is its picture", ErrCorrupt)
	}
	info := &heifInfo{turned: 1, bytes: len(data)}
	v := heifVisit{file: f, info: info, limits: limits}
	if err := info.read(f, it, limits); err != nil {
		return nil, err
	}
	if err := v.visit(f.primary, 0, true); err != nil {
		return nil, err
	}
	return info, nil
}

// read takes over the properties of the picture itself.
func (info *heifInfo) read(f *heifFile, it *heifItem, limits Limits) (err error) {
	f.each(it, func(p heifProperty) {
		if w, h, ok := spatial(p); ok {
			info.w, info.h = w, h
		}
		if icc := colourProfile(p); icc != nil {
			info.icc = icc
		}
	})
	if info.w == 0 || info.h == 0 {
		return fmt.Errorf("%w: picture has no size", ErrCorrupt)
	}
	if err := limits.checkPixels(info.format, info.w, info.h); err != nil {
		return err
	}
	var t transform
	f.each(it, func(p heifProperty) {
		if err == nil {
			err = t.apply(p, info.w, info.h)
		}
	})
	info.cut, info.turned, info.prem = t.cut, t.orientation(), it.prem
	return err
}

// heifVisit follows a picture to what it is made of.
type heifVisit struct {
	file   *heifFile
	info   *heifInfo
	limits Limits
	tiles  int
}

// visit adds an item and its parts. shown is whether they are colours, not alpha.
func (v *heifVisit) visit(id uint32, depth int, shown bool) error {
	it := v.file.items[id]
	if it == nil {
		return fmt.Errorf("%w: item %d is missing", ErrCorrupt, id)
	}
	if depth > maxDerivations {
		return fmt.Errorf("%w: pictures are made of pictures more than %d times", ErrTooLarge, maxDerivations)
	}
	if shown && it.alpha != 0 {
		if a := v.file.items[it.alpha]; a != nil && v.file.isAlpha(a) {
			v.info.alpha = true
			if err := v.visit(it.alpha, depth+1, false); err != nil {
				return err
			}
		}
	}
	switch it.kind {
	case "av01", "hvc1", "hev1":
		return v.coded(id, it, shown)
	case "grid":
		if err := v.grid(id, it, depth); err != nil {
			return err
		}
	case "iden", "iovl":
		v.info.derived = true
	default:
		return fmt.Errorf("%w: picture is of kind %q; AV1 (AVIF) and HEVC (HEIC) are decoded", ErrUnsupported, it.kind)
	}
	if len(it.parts) == 0 {
		return fmt.Errorf("%w: item %d is made of nothing", ErrCorrupt, id)
	}
	for _, part := range it.parts {
		if v.tiles++; v.tiles > maxTiles {
			return fmt.Errorf("%w: picture is made of more than %d parts", ErrTooLarge, maxTiles)
		}
		if err := v.visit(part, depth+1, shown); err != nil {
			return err
		}
	}
	return nil
}

// grid checks the description of a grid of tiles (23008-12, 6.6.2.3).
func (v *heifVisit) grid(id uint32, it *heifItem, depth int) error {
	data, err := v.file.bytes(id, it)
	if err != nil {
		return err
	}
	c := fields{b: data}
	c.take(1)
	wide := 2
	if c.uint(1)&1 == 1 {
		wide = 4
	}
	rows, cols := int(c.uint(1))+1, int(c.uint(1))+1
	w, h := int(c.uint(wide)), int(c.uint(wide))
	if c.short {
		return fmt.Errorf("%w: description of the grid has %d bytes", ErrCorrupt, len(data))
	}
	if len(it.parts) != rows*cols {
		return fmt.Errorf("%w: grid of %dx%d tiles has %d", ErrCorrupt, cols, rows, len(it.parts))
	}
	if depth == 0 && (w != v.info.w || h != v.info.h) {
		return fmt.Errorf("%w: grid is %dx%d, its picture %dx%d", ErrCorrupt, w, h, v.info.w, v.info.h)
	}
	return v.limits.checkPixels(v.info.format, w, h)
}

// coded checks a compressed item.
func (v *heifVisit) coded(id uint32, it *heifItem, shown bool) error {
	data, err := v.file.bytes(id, it)
	if err != nil {
		return err
	}
	format := HEIC
	if it.kind == "av01" {
		format = AVIF
	}
	if v.info.format == Unknown {
		v.info.format = format
	}
	var size codedSize
	found := false
	v.file.each(it, func(p heifProperty) {
		var s codedSize
		switch {
		case err != nil:
		case format == AVIF && p.kind == "av1C" && len(p.body) >= 4:
			found = true
			s, err = av1Size(p.body[4:])
			if shown && v.info.depth == 0 {
				v.info.av1Config(p.body)
			}
		case format == HEIC && p.kind == "hvcC":
			found = true
			lengths := 0
			if s, lengths, err = hvcCSize(p.body); err == nil {
				size.grow(s)
				s, err = hevcSize(data, lengths)
			}
			if shown && v.info.depth == 0 && len(p.body) > 17 {
				v.info.depth, v.info.grey = 8+int(p.body[17]&7), p.body[16]&3 == 0
			}
		}
		size.grow(s)
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: item %d has no description of its codec", ErrCorrupt, id)
	}
	if err == nil && format == AVIF {
		var s codedSize
		s, err = av1Size(data)
		size.grow(s)
	}
	if err == nil && size == (codedSize{}) {
		err = fmt.Errorf("%w: the stream of item %d does not say its size", ErrCorrupt, id)
	}
	if err != nil {
		return err
	}
	return v.info.count(size, v.limits)
}

// count adds a compressed picture to what has to be decompressed.
func (info *heifInfo) count(size codedSize, limits Limits) error {
	if err := limits.checkPixels(info.format, size.w, size.h); err != nil {
		return err
	}
	info.coded += size.pixels()
	info.largest = max(info.largest, size.pixels())
	if most := codedFactor * limits.MaxPixels; limits.MaxPixels > 0 && info.coded > most {
		return fmt.Errorf("%w: %s of %dx%d pixels is made of %d coded pixels, above the limit of %d; raise max_pixels to decode it",
			ErrTooLarge, info.format, info.w, info.h, info.coded, most)
	}
	return nil
}

// av1Config reads depth and colours of an av1C property (AV1 in ISOBMFF, 2.3.3).
func (info *heifInfo) av1Config(body []byte) {
	info.depth = 8
	if body[2]>>6&1 == 1 {
		info.depth = 10
		if body[2]>>5&1 == 1 {
			info.depth = 12
		}
	}
	info.grey = body[2]>>4&1 == 1
}
