package imaging

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// maxProfileBytes bounds an ICC profile. Display profiles have some kilobytes, print profiles up to
// a few megabytes; a larger one is dropped as if it were absent.
const maxProfileBytes = 4 << 20

const iccJPEGTag = "ICC_PROFILE\x00"

// iccParts gathers the APP2 segments over which a JPEG spreads its profile (ICC.1:2010 annex B.4).
type iccParts struct {
	parts [256][]byte
	count int
	bytes int
}

func (p *iccParts) add(body []byte) {
	if len(body) < len(iccJPEGTag)+2 || string(body[:len(iccJPEGTag)]) != iccJPEGTag {
		return
	}
	seq, count := body[len(iccJPEGTag)], int(body[len(iccJPEGTag)+1])
	if seq == 0 || p.parts[seq] != nil {
		return
	}
	p.count = count
	p.parts[seq] = body[len(iccJPEGTag)+2:]
	p.bytes += len(p.parts[seq])
}

// join returns the whole profile, or nil if a part is missing.
func (p *iccParts) join() []byte {
	if p.count == 0 || p.bytes == 0 || p.bytes > maxProfileBytes {
		return nil
	}
	if p.count == 1 {
		return p.parts[1]
	}
	out := make([]byte, 0, p.bytes)
	for i := 1; i <= p.count; i++ {
		if p.parts[i] == nil {
			return nil
		}
		out = append(out, p.parts[i]...)
	}
	return out
}

// appendJPEGProfile appends to dst the encoded JPEG with the profile embedded after its first marker.
func appendJPEGProfile(dst, jpeg, profile []byte) []byte {
	const room = 65535 - 2 - len(iccJPEGTag) - 2
	count := ceilDiv(len(profile), room)
	if len(jpeg) < 2 || count == 0 || count > 255 {
		return append(dst, jpeg...)
	}
	dst = append(dst, jpeg[:2]...)
	rest := jpeg[2:]
	// The JFIF segment must stay first where there is one.
	if len(rest) >= 4 && rest[0] == 0xff && rest[1] == 0xe0 {
		if n := 2 + int(binary.BigEndian.Uint16(rest[2:])); n <= len(rest) {
			dst, rest = append(dst, rest[:n]...), rest[n:]
		}
	}
	for i := range count {
		part := profile[i*room : min((i+1)*room, len(profile))]
		dst = append(dst, 0xff, 0xe2)
		dst = binary.BigEndian.AppendUint16(dst, uint16(2+len(iccJPEGTag)+2+len(part)))
		dst = append(dst, iccJPEGTag...)
		dst = append(dst, byte(i+1), byte(count))
		dst = append(dst, part...)
	}
	return append(dst, rest...)
}

// pngProfile finds the iCCP chunk before the pixels.
func pngProfile(data []byte) []byte {
	if c := pngChunk(data, "iCCP"); c != nil {
		return inflateProfile(c)
	}
	return nil
}

// pngChunk returns the first chunk of a kind before the pixels, or nil.
func pngChunk(data []byte, want string) []byte {
	pos := 8
	for range maxSegments {
		if pos+12 > len(data) {
			return nil
		}
		n := int64(binary.BigEndian.Uint32(data[pos:]))
		kind := string(data[pos+4 : pos+8])
		if kind == "IDAT" || n > int64(len(data)-pos-12) {
			return nil
		}
		if kind == want {
			return data[pos+8 : pos+8+int(n)]
		}
		pos += int(n) + 12
	}
	return nil
}

func inflateProfile(chunk []byte) []byte {
	name := bytes.IndexByte(chunk, 0)
	if name < 0 || name > 79 || name+2 > len(chunk) || chunk[name+1] != 0 {
		return nil
	}
	r, err := zlib.NewReader(bytes.NewReader(chunk[name+2:]))
	if err != nil {
		return nil
	}
	out, err := io.ReadAll(io.LimitReader(r, maxProfileBytes+1))
	if err != nil || len(out) == 0 || len(out) > maxProfileBytes {
		return nil
	}
	return out
}

// appendPNGProfile appends to dst the encoded PNG with the profile in an iCCP chunk after the header.
func appendPNGProfile(dst, png, profile []byte) []byte {
	const header = 8 + 12 + 13
	if len(png) < header {
		return append(dst, png...)
	}
	var body bytes.Buffer
	body.WriteString("iCCPicc\x00\x00")
	z := zlib.NewWriter(&body)
	_, _ = z.Write(profile) // a bytes.Buffer never fails
	_ = z.Close()
	dst = append(dst, png[:header]...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(body.Len()-4))
	dst = append(dst, body.Bytes()...)
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(body.Bytes()))
	return append(dst, png[header:]...)
}

// webpProfile finds the ICCP chunk of an extended WebP file.
func webpProfile(data []byte) (profile []byte) {
	walkRIFF(data, func(kind string, body []byte) bool {
		if kind == "ICCP" && len(body) <= maxProfileBytes {
			profile = body
		}
		return kind == "VP8X" // the profile directly follows the extended header
	})
	return profile
}
