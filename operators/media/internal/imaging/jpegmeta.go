package imaging

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// jpegInfo is what the segments before the first scan say.
type jpegInfo struct {
	width, height int
	components    int
	progressive   bool
	chroma        Chroma // of three-component pictures
	orientation   int
	profile       []byte
}

// maxSegments bounds the walk over a JPEG's segments; real files have a few dozen.
const maxSegments = 4096

// readJPEGInfo walks the segments up to the first scan. It reads lengths only, copies nothing but
// a split ICC profile, and never looks at pixel data.
func readJPEGInfo(data []byte) (jpegInfo, error) {
	info := jpegInfo{orientation: 1}
	var icc iccParts
	pos := 2
	for range maxSegments {
		marker, body, next, err := jpegSegment(data, pos)
		if err != nil {
			return info, err
		}
		pos = next
		switch {
		case marker == 0xda: // start of scan
			if info.width == 0 {
				return info, fmt.Errorf("%w: jpeg has a scan before its frame header", ErrCorrupt)
			}
			info.profile = icc.join()
			return info, nil
		case marker == 0xd9:
			return info, fmt.Errorf("%w: jpeg ends before its first scan", ErrTruncated)
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			if err := info.frame(marker, body); err != nil {
				return info, err
			}
		case marker == 0xe1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")):
			if o := exifOrientation(body[6:]); o != 0 {
				info.orientation = o
			}
		case marker == 0xe2:
			icc.add(body)
		}
	}
	return info, fmt.Errorf("%w: jpeg has more than %d segments before its first scan", ErrCorrupt, maxSegments)
}

// jpegSegment returns the segment whose marker begins at or after pos.
func jpegSegment(data []byte, pos int) (marker byte, body []byte, next int, err error) {
	for pos < len(data) && data[pos] != 0xff {
		pos++ // bytes between segments are tolerated, as the libraries do
	}
	for pos < len(data) && data[pos] == 0xff {
		pos++
	}
	if pos >= len(data) {
		return 0, nil, 0, fmt.Errorf("%w: jpeg ends after %d bytes, before its first scan", ErrTruncated, len(data))
	}
	marker = data[pos]
	pos++
	if marker == 0 || marker == 0xd8 || marker == 0xd9 || marker >= 0xd0 && marker <= 0xd7 || marker == 0x01 {
		return marker, nil, pos, nil
	}
	if pos+2 > len(data) {
		return 0, nil, 0, fmt.Errorf("%w: jpeg ends after %d bytes, before its first scan", ErrTruncated, len(data))
	}
	n := int(binary.BigEndian.Uint16(data[pos:]))
	if n < 2 {
		return 0, nil, 0, fmt.Errorf("%w: jpeg segment %#x has length %d", ErrCorrupt, marker, n)
	}
	if pos+n > len(data) {
		return 0, nil, 0, fmt.Errorf("%w: jpeg ends after %d bytes, within segment %#x", ErrTruncated, len(data), marker)
	}
	return marker, data[pos+2 : pos+n], pos + n, nil
}

func (info *jpegInfo) frame(marker byte, body []byte) error {
	if len(body) < 6 || len(body) < 6+3*int(body[5]) {
		return fmt.Errorf("%w: jpeg frame header is too short", ErrCorrupt)
	}
	if body[0] != 8 {
		return fmt.Errorf("%w: jpeg with %d bits a sample; convert it to 8", ErrUnsupported, body[0])
	}
	info.height = int(binary.BigEndian.Uint16(body[1:]))
	info.width = int(binary.BigEndian.Uint16(body[3:]))
	info.components = int(body[5])
	info.progressive = marker == 0xc2 || marker == 0xc6 || marker == 0xca || marker == 0xce
	info.chroma = Chroma444
	if info.components == 3 {
		hy, vy := int(body[7]>>4), int(body[7]&15)
		hc, vc := int(body[10]>>4), int(body[10]&15)
		if hc > 0 && vc > 0 && hy%hc == 0 && vy%vc == 0 {
			info.chroma = Chroma{hy / hc, vy / vc}
		}
	}
	if info.height == 0 {
		return fmt.Errorf("%w: jpeg announces its height after the pixels", ErrUnsupported)
	}
	return nil
}

// countScans counts the scans of a JPEG. Entropy-coded bytes never contain the marker; embedded
// thumbnails add a few, which the limit can bear.
func countScans(data []byte) int { return bytes.Count(data, []byte{0xff, 0xda}) }
