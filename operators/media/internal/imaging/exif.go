package imaging

import (
	"bytes"
	"encoding/binary"
)

// maxExifEntries bounds the first directory of an EXIF block; real ones have some twenty.
const maxExifEntries = 1024

// exifOrientation reads only the orientation tag out of a TIFF structure, the payload of an EXIF
// block. It returns 1 to 8, or 0 if there is none or the block is damaged: a picture with a broken
// EXIF block is shown as it is.
func exifOrientation(tiff []byte) int {
	const orientationTag, typeShort = 0x0112, 3
	var order binary.ByteOrder
	switch {
	case len(tiff) < 8:
		return 0
	case string(tiff[:4]) == "II*\x00":
		order = binary.LittleEndian
	case string(tiff[:4]) == "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	off := int64(order.Uint32(tiff[4:]))
	if off < 8 || off+2 > int64(len(tiff)) {
		return 0
	}
	n := min(int(order.Uint16(tiff[off:])), maxExifEntries)
	for i := range n {
		at := off + 2 + int64(i)*12
		if at+12 > int64(len(tiff)) {
			return 0
		}
		e := tiff[at : at+12]
		if order.Uint16(e) != orientationTag {
			continue
		}
		if order.Uint16(e[2:]) != typeShort || order.Uint32(e[4:]) != 1 {
			return 0
		}
		if o := int(order.Uint16(e[8:])); o >= 1 && o <= 8 {
			return o
		}
		return 0
	}
	return 0
}

// webpOrientation reads the EXIF chunk of an extended WebP file; some writers keep the prefix that JPEG needs.
func webpOrientation(data []byte) (o int) {
	walkRIFF(data, func(kind string, body []byte) bool {
		if kind == "EXIF" {
			o = exifOrientation(bytes.TrimPrefix(body, []byte("Exif\x00\x00")))
		}
		return kind != "EXIF"
	})
	return o
}

// pngOrientation reads the eXIf chunk before the pixels.
func pngOrientation(data []byte) int { return exifOrientation(pngChunk(data, "eXIf")) }
