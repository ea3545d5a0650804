package imaging

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image/png"
	"time"
)

const pngSignature = "\x89PNG\r\n\x1a\n"

// pngChunks calls f with each chunk of a PNG from byte at on, its place, kind and contents, until f returns false or the file ends. It returns where it came to.
func pngChunks(data []byte, at int, f func(at int, kind string, body []byte) bool) int {
	for at+12 <= len(data) {
		n := int64(binary.BigEndian.Uint32(data[at:]))
		if n > int64(len(data)-at-12) {
			return at
		}
		end := at + 12 + int(n)
		if !f(at, string(data[at+4:at+8]), data[at+8:end-4]) {
			return end
		}
		at = end
	}
	return at
}

// readPNG walks the chunks of an animated PNG (PNG specification, third edition, 11.3.6). The picture of readers that know no animations, where it is not the
// first frame, is not part of it. A still has no frames.
func (a *Animation) readPNG(data []byte, keep int) (err error) {
	var part framePart // between its control chunk and the next
	open, animated, ended, pixels := false, false, false, false
	announced := uint32(0)
	finish := func(to int) {
		if open && err == nil {
			if part.to = to; !pixels {
				err = fmt.Errorf("%w: png frame %d has no pixels", ErrCorrupt, a.Count)
				return
			}
			err = a.add(PNG, part, keep)
		}
		open, pixels = false, false
	}
	a.head = append(a.head, pngSignature...)
	seen := false // pixels of any kind
	pngChunks(data, len(pngSignature), func(at int, kind string, body []byte) bool {
		switch kind {
		case "IHDR", "PLTE", "tRNS":
			if !seen {
				a.head = append(a.head, data[at:at+12+len(body)]...)
			}
		case "acTL":
			if !seen && len(body) >= 4 {
				animated, announced = true, binary.BigEndian.Uint32(body)
			}
		case "fcTL":
			if finish(at); err == nil {
				part, err = frameControl(body, at+12+len(body))
				open = true
			}
		case "IDAT":
			seen, pixels = true, true
		case "fdAT":
			pixels = true
		case "IEND":
			ended = true
			finish(at)
		}
		return err == nil && !ended && (animated || !seen)
	})
	switch {
	case !animated:
		a.Count, a.parts = 0, nil
		return nil
	case err != nil:
		return err
	case !ended:
		return fmt.Errorf("%w: png file ends after %d bytes, within frame %d", ErrTruncated, len(data), a.Count)
	case int64(a.Count) != int64(announced) || a.Count == 0:
		return fmt.Errorf("%w: animated png announces %d frames and has %d", ErrCorrupt, announced, a.Count)
	}
	return nil
}

// frameControl reads an fcTL chunk.
func frameControl(body []byte, from int) (framePart, error) {
	if len(body) < 26 {
		return framePart{}, fmt.Errorf("%w: png frame control has %d bytes", ErrCorrupt, len(body))
	}
	n := func(i int) int { return int(binary.BigEndian.Uint32(body[i:])) }
	num, den := int64(binary.BigEndian.Uint16(body[20:])), int64(binary.BigEndian.Uint16(body[22:]))
	if den == 0 {
		den = 100
	}
	p := framePart{at: Rect{X: n(12), Y: n(16), W: n(4), H: n(8)}, from: from, over: body[25] == 1}
	p.delay = time.Duration(num) * time.Second / time.Duration(den)
	switch body[24] {
	case 1:
		p.after = clearFrame
	case 2:
		p.after = restoreFrame
	}
	return p, nil
}

// pngFrame decodes one frame, as a file of its own: its size in the head, its data as pixels.
func (w *Worker) pngFrame(a *Animation, p framePart, data []byte) (*Image, error) {
	file := w.scratch.alloc(len(a.head) + p.to - p.from + 12)[:0]
	file = append(file, a.head...)
	size := file[len(pngSignature)+8:]
	binary.BigEndian.PutUint32(size, uint32(p.at.W))
	binary.BigEndian.PutUint32(size[4:], uint32(p.at.H))
	sum(file[len(pngSignature):][:12+13])
	var broken error
	pngChunks(data[:p.to], p.from, func(at int, kind string, body []byte) bool {
		if crc32.ChecksumIEEE(data[at+4:at+8+len(body)]) != binary.BigEndian.Uint32(data[at+8+len(body):]) {
			broken = fmt.Errorf("%w: png chunk %q at byte %d has a wrong checksum", ErrCorrupt, kind, at)
			return false
		}
		switch {
		case kind == "IDAT":
			file = append(file, data[at:at+12+len(body)]...)
		case kind == "fdAT" && len(body) >= 4:
			start := len(file)
			file = binary.BigEndian.AppendUint32(file, uint32(len(body)-4))
			file = append(file, "IDAT"...)
			file = append(append(file, body[4:]...), 0, 0, 0, 0)
			sum(file[start:])
		}
		return true
	})
	if broken != nil {
		return nil, broken
	}
	file = append(file, "\x00\x00\x00\x00IEND\xaeB`\x82"...)
	src, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, classify(PNG, len(data), err)
	}
	return w.fromImage(src)
}

// sum writes the checksum of a chunk.
func sum(chunk []byte) {
	end := len(chunk) - 4
	binary.BigEndian.PutUint32(chunk[end:], crc32.ChecksumIEEE(chunk[4:end]))
}
