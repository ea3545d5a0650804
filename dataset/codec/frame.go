package codec

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// Compression is how bodies are stored.
type Compression uint8

// The compressions. LZ4 is for spill files and fast links, Zstd for slow ones.
const (
	None Compression = iota
	LZ4
	Zstd
)

// HeaderBytes is the size of a frame's header. FrameLen reads the size of the whole frame from it.
const HeaderBytes = 64

const (
	version      = 1
	magic        = 0x314d5246 // "FRM1"
	sectionBytes = 32
	maxSections  = 1 << 16
	align        = 64

	offVersion  = 4
	offCompress = 5
	offSections = 8
	offTotal    = 16
	offRows     = 24
	offRaw      = 32
	offSum      = 40
)

// ErrCorrupt is wrapped by every error about bytes that are no frame or not the frame that was written.
var ErrCorrupt = errors.New("corrupt frame")

func corrupt(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, a...))
}

// header is the fixed part of a frame.
type header struct {
	compression Compression
	sections    uint32
	total       uint64 // bytes of the whole frame
	rows        uint64
	raw         uint64 // bytes of all bodies, uncompressed
}

// section describes one IPC message.
type section struct {
	meta   uint32 // bytes of metadata
	raw    uint64 // bytes of the body, uncompressed
	stored uint64 // bytes of the body as stored
}

func pad(n int) int { return (n + align - 1) &^ (align - 1) }

// FrameLen returns the bytes of the whole frame that begins with the given header, so that a reader knows how much to fetch. A frame
// longer than limit is refused.
func FrameLen(head []byte, limit int64) (int64, error) {
	h, err := parseHeader(head, limit)
	return int64(h.total), err
}

func parseHeader(p []byte, limit int64) (header, error) {
	var h header
	if len(p) < HeaderBytes {
		return h, corrupt("%d bytes are less than a header", len(p))
	}
	le := binary.LittleEndian
	if le.Uint32(p) != magic {
		return h, corrupt("it does not begin with the magic number")
	}
	if p[offVersion] != version {
		return h, corrupt("version %d, this program reads %d", p[offVersion], version)
	}
	h = header{Compression(p[offCompress]), le.Uint32(p[offSections:]), le.Uint64(p[offTotal:]), le.Uint64(p[offRows:]), le.Uint64(p[offRaw:])}
	switch {
	case h.compression > Zstd:
		return h, corrupt("unknown compression %d", h.compression)
	case h.sections == 0 || h.sections > maxSections:
		return h, corrupt("%d sections", h.sections)
	case h.total < HeaderBytes || h.total%align != 0:
		return h, corrupt("length %d", h.total)
	case h.total > uint64(limit) || h.raw > uint64(limit):
		return h, corrupt("%d bytes, %d uncompressed, are above the limit of %d", h.total, h.raw, limit)
	}
	return h, nil
}

func (h header) put(p []byte) {
	le := binary.LittleEndian
	clear(p[:HeaderBytes])
	le.PutUint32(p, magic)
	p[offVersion], p[offCompress] = version, byte(h.compression)
	le.PutUint32(p[offSections:], h.sections)
	le.PutUint64(p[offTotal:], h.total)
	le.PutUint64(p[offRows:], h.rows)
	le.PutUint64(p[offRaw:], h.raw)
}

func (s section) put(p []byte) {
	le := binary.LittleEndian
	clear(p[:sectionBytes])
	le.PutUint32(p, s.meta)
	le.PutUint64(p[8:], s.raw)
	le.PutUint64(p[16:], s.stored)
}

func parseSection(p []byte) section {
	le := binary.LittleEndian
	return section{le.Uint32(p), le.Uint64(p[8:]), le.Uint64(p[16:])}
}

// checksum hashes a frame without the eight bytes that hold the sum.
func checksum(frame []byte) uint64 {
	head := xxh3.Hash(frame[:offSum])
	return xxh3.HashSeed(frame[offSum+8:], head)
}

func seal(frame []byte) { binary.LittleEndian.PutUint64(frame[offSum:], checksum(frame)) }

func checkSum(frame []byte) error {
	if want, have := binary.LittleEndian.Uint64(frame[offSum:]), checksum(frame); want != have {
		return corrupt("checksum is %016x, want %016x", have, want)
	}
	return nil
}
