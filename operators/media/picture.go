package media

import "github.com/sluice-data/sluice/operators/media/internal/imaging"

// Picture is what the header of an AVIF or HEIC file says.
type Picture struct {
	Format        string // "avif" or "heic", by what is in the file
	Width, Height int    // upright
	Depth         int    // bits of a sample
	Grey, Alpha   bool
}

// IsHEIF reports whether data begins as a file of the HEIF family does: AVIF or HEIC.
func IsHEIF(data []byte) bool {
	f := imaging.Detect(data)
	return f == imaging.AVIF || f == imaging.HEIC
}

// ReadHEIF reads the header of an AVIF or HEIC file. No pixel is decoded, and no size is too large.
func ReadHEIF(data []byte) (Picture, error) {
	h, err := imaging.ReadHeader(data, imaging.Limits{})
	if err != nil {
		return Picture{}, err
	}
	p := Picture{Format: h.Format.String(), Width: h.Width, Height: h.Height}
	p.Depth, p.Grey, p.Alpha = h.Samples()
	return p, nil
}
