package imaging

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/image/webp"
)

// readWebP walks the chunks of an animated WebP (WebP container specification). Of a still it finds no frames.
func (a *Animation) readWebP(data []byte, keep int) error {
	if len(data) < 16 || string(data[12:16]) != "VP8X" {
		return nil
	}
	animated := false
	for at := 12; at < len(data); {
		if at+8 > len(data) {
			return fmt.Errorf("%w: webp file ends after %d bytes, after frame %d", ErrTruncated, len(data), a.Count)
		}
		kind, n := string(data[at:at+4]), int64(binary.LittleEndian.Uint32(data[at+4:]))
		if n > int64(len(data)-at-8) {
			return fmt.Errorf("%w: webp file ends after %d bytes, within frame %d", ErrTruncated, len(data), a.Count)
		}
		from := at + 8
		to := from + int(n)
		body := data[from:to]
		switch {
		case kind == "VP8X" && len(body) >= 10:
			animated = body[0]&2 != 0
		case kind == "ANMF" && animated:
			if len(body) < 16 {
				return fmt.Errorf("%w: webp frame %d has %d bytes", ErrCorrupt, a.Count, len(body))
			}
			p := framePart{from: from + 16, to: to, delay: time.Duration(u24(body[12:])) * time.Millisecond, over: body[15]&2 == 0}
			p.at = Rect{2 * u24(body), 2 * u24(body[3:]), u24(body[6:]) + 1, u24(body[9:]) + 1}
			if body[15]&1 != 0 {
				p.after = clearFrame
			}
			if err := a.add(WebP, p, keep); err != nil {
				return err
			}
		}
		at = to + to&1
	}
	if size := int64(binary.LittleEndian.Uint32(data[4:])) + 8; animated && size > int64(len(data)) {
		return fmt.Errorf("%w: webp file ends after %d of %d bytes, after frame %d", ErrTruncated, len(data), size, a.Count)
	}
	if animated && a.Count == 0 {
		return fmt.Errorf("%w: animated webp has no complete frame", ErrTruncated)
	}
	return nil
}

// webpFrameImage decodes one frame, as a file of its own.
func (w *Worker) webpFrameImage(p framePart, data []byte) (*Image, error) {
	file := stillWebP(p.at.W, p.at.H, data[p.from:p.to])
	cfg, err := webp.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return nil, classify(WebP, len(data), err)
	}
	if cfg.Width != p.at.W || cfg.Height != p.at.H {
		return nil, fmt.Errorf("%w: webp frame of %dx%d holds a picture of %dx%d", ErrCorrupt, p.at.W, p.at.H, cfg.Width, cfg.Height)
	}
	return w.decodeStillWebP(file)
}
