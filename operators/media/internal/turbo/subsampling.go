package turbo

// Subsampling says how the chroma planes of a JPEG relate to its luma plane. The
// values are those of TJSAMP in turbojpeg.h.
type Subsampling int

// The subsamplings that the library reports and accepts.
const (
	S444 Subsampling = iota
	S422
	S420
	Grey
	S440
	S411
	numSubsamplings
)

// Factors gives the luma samples per chroma sample, horizontally and vertically.
func (s Subsampling) Factors() (h, v int) {
	switch s {
	case S422:
		return 2, 1
	case S420:
		return 2, 2
	case S440:
		return 1, 2
	case S411:
		return 4, 1
	default:
		return 1, 1
	}
}

// Planes is the number of planes: one for grey, else three.
func (s Subsampling) Planes() int {
	if s == Grey {
		return 1
	}
	return 3
}

// PlaneSize gives width and height of plane i of a picture of w x h. The luma plane is
// padded to whole chroma samples, as the library writes it.
func (s Subsampling) PlaneSize(i, w, h int) (pw, ph int) {
	fh, fv := s.Factors()
	pw, ph = (w+fh-1)/fh, (h+fv-1)/fv
	if i == 0 {
		pw, ph = pw*fh, ph*fv
	}
	return pw, ph
}

// MaxEncodedBytes bounds the length of a JPEG of w x h, as tjBufSize does.
func (s Subsampling) MaxEncodedBytes(w, h int) int {
	fh, fv := s.Factors()
	mw, mh := 8*fh, 8*fv
	pw, ph := (w+mw-1)/mw*mw, (h+mh-1)/mh*mh
	chroma := 0
	if s != Grey {
		chroma = 4 * 64 / (mw * mh)
	}
	return pw*ph*(2+chroma) + 2048
}
