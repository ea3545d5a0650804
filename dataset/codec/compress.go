package codec

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	lz4Chunk  = 4 << 20 // bounds the scratch memory of a compressor
	lz4Plain  = 1 << 31 // marks a chunk that did not shrink
	lz4Expand = 255     // no valid stream of lz4 expands more than this
)

var (
	zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	})
	zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	})
)

// compress appends the stored form of body to dst.
func (e *Encoder) compress(dst, body []byte) ([]byte, error) {
	switch e.compression {
	case LZ4:
		return e.compressLZ4(dst, body)
	case Zstd:
		z, err := zstdEncoder()
		if err != nil {
			return nil, fmt.Errorf("compress frame: %w", err)
		}
		return z.EncodeAll(body, dst), nil
	default:
		return append(dst, body...), nil
	}
}

func (e *Encoder) compressLZ4(dst, body []byte) ([]byte, error) {
	for len(body) > 0 {
		chunk := body[:min(len(body), lz4Chunk)]
		body = body[len(chunk):]
		at := len(dst)
		dst = grow(dst, 4+lz4.CompressBlockBound(len(chunk)))
		n, err := e.lz4.CompressBlock(chunk, dst[at+4:])
		if err != nil {
			return nil, fmt.Errorf("compress frame: %w", err)
		}
		mark := uint32(n)
		if n == 0 || n >= len(chunk) {
			n = copy(dst[at+4:], chunk)
			mark = uint32(n) | lz4Plain
		}
		binary.LittleEndian.PutUint32(dst[at:], mark)
		dst = dst[:at+4+n]
	}
	return dst, nil
}

// grow lengthens dst by n bytes of any content.
func grow(dst []byte, n int) []byte {
	if need := len(dst) + n; need > cap(dst) {
		bigger := make([]byte, need, need+need/4)
		copy(bigger, dst)
		return bigger
	}
	return dst[:len(dst)+n]
}

// expand fills dst, which has the raw length, from the stored body.
func expand(c Compression, dst, stored []byte) error {
	switch c {
	case LZ4:
		return expandLZ4(dst, stored)
	case Zstd:
		z, err := zstdDecoder()
		if err != nil {
			return fmt.Errorf("expand frame: %w", err)
		}
		out, err := z.DecodeAll(stored, dst[:0:len(dst)])
		if err != nil || len(out) != len(dst) {
			return corrupt("zstd body: %d of %d bytes (%v)", len(out), len(dst), err)
		}
		return nil
	default:
		if len(dst) != len(stored) {
			return corrupt("body of %d bytes, want %d", len(stored), len(dst))
		}
		copy(dst, stored)
		return nil
	}
}

func expandLZ4(dst, stored []byte) error {
	for len(stored) > 0 || len(dst) > 0 {
		if len(stored) < 4 || len(dst) == 0 {
			return corrupt("lz4 body: %d bytes are left, %d are missing", len(stored), len(dst))
		}
		mark := binary.LittleEndian.Uint32(stored)
		n := int(mark &^ lz4Plain)
		stored = stored[4:]
		want := min(len(dst), lz4Chunk)
		if n > len(stored) {
			return corrupt("lz4 chunk of %d bytes in %d", n, len(stored))
		}
		if mark&lz4Plain != 0 {
			if n != want {
				return corrupt("plain chunk of %d bytes, want %d", n, want)
			}
			copy(dst, stored[:n])
		} else if got, err := lz4.UncompressBlock(stored[:n], dst[:want]); err != nil || got != want {
			return corrupt("lz4 chunk gives %d of %d bytes (%v)", got, want, err)
		}
		stored, dst = stored[n:], dst[want:]
	}
	return nil
}

// plausible refuses a raw length that no body of the stored length can have, before memory is taken for it.
func plausible(c Compression, raw, stored uint64) bool {
	switch c {
	case None:
		return raw == stored
	case LZ4:
		return raw <= stored*lz4Expand+64
	default:
		return true
	}
}
