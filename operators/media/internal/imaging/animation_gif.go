package imaging

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/gif"
	"time"
)

const (
	gifHead    = 13 // signature and logical screen
	gifControl = 8  // a graphic control extension, its terminator included
)

// readGIF walks the blocks of a GIF (GIF89a specification) without unpacking pixels.
func (a *Animation) readGIF(data []byte, keep int) error {
	cut := func() error {
		return fmt.Errorf("%w: gif file ends after %d bytes, within or after frame %d", ErrTruncated, len(data), a.Count)
	}
	at := gifHead
	if len(data) >= gifHead {
		at += colourTable(data[10])
	}
	if at > len(data) {
		return cut()
	}
	a.head = data[:at:at]
	part := framePart{over: true}
	for at < len(data) && data[at] != 0x3b {
		switch data[at] {
		case 0x21:
			if at+gifControl <= len(data) && data[at+1] == 0xf9 && data[at+2] == 4 {
				part.control = at
				part.delay = time.Duration(binary.LittleEndian.Uint16(data[at+4:])) * 10 * time.Millisecond
				part.after = [8]uint8{2: clearFrame, 3: restoreFrame}[data[at+3]>>2&7]
			}
			at = skipSubBlocks(data, at+2)
		case 0x2c:
			if at+11 > len(data) {
				return cut()
			}
			side := func(i int) int { return int(binary.LittleEndian.Uint16(data[at+i:])) }
			part.at, part.from = Rect{side(1), side(3), side(5), side(7)}, at
			if at = skipSubBlocks(data, at+11+colourTable(data[at+9])); at < 0 {
				return cut()
			}
			part.to = at
			if err := a.add(GIF, part, keep); err != nil {
				return err
			}
			part = framePart{over: true}
		default:
			return fmt.Errorf("%w: gif has a block of the unknown type 0x%02x at byte %d", ErrCorrupt, data[at], at)
		}
		if at < 0 {
			return cut()
		}
	}
	switch {
	case at >= len(data):
		return cut()
	case a.Count == 0:
		return fmt.Errorf("%w: gif file of %d bytes has no frame", ErrCorrupt, len(data))
	}
	return nil
}

// colourTable is the size of the table that a packed field announces.
func colourTable(packed byte) int {
	if packed&0x80 == 0 {
		return 0
	}
	return 3 << (packed&7 + 1)
}

// skipSubBlocks returns what follows a chain of sub-blocks, -1 if the file ends within.
func skipSubBlocks(data []byte, at int) int {
	for at < len(data) {
		n := int(data[at])
		at += 1 + n
		if n == 0 {
			return at
		}
	}
	return -1
}

// gifFrame decodes one frame, as a file of its own.
func (w *Worker) gifFrame(a *Animation, p framePart, data []byte) (*Image, error) {
	file := w.scratch.alloc(len(a.head) + gifControl + p.to - p.from + 1)[:0]
	file = append(file, a.head...)
	if p.control > 0 {
		file = append(file, data[p.control:p.control+gifControl]...)
	}
	file = append(file, data[p.from:p.to]...)
	src, err := gif.Decode(bytes.NewReader(append(file, 0x3b)))
	if err != nil {
		return nil, classify(GIF, len(data), err)
	}
	return w.fromImage(src)
}
