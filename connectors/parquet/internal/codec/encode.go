package codec

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// Names maps the names that users write to codecs that can be written.
var Names = map[string]format.CompressionCodec{
	"snappy": format.Snappy, "zstd": format.Zstd, "gzip": format.Gzip,
	"lz4raw": format.Lz4Raw, "lz4": format.Lz4Raw, "none": format.Uncompressed, "uncompressed": format.Uncompressed,
}

var zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20))
})

// gzipWriters and lz4Compressors keep the encoders' tables, which are larger
// than the pages.
var (
	gzipWriters    = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	lz4Compressors = sync.Pool{New: func() any { return new(lz4.Compressor) }}
)

// Append compresses src and appends it to dst. It is safe for concurrent use.
func Append(c format.CompressionCodec, dst, src []byte) ([]byte, error) {
	switch c {
	case format.Uncompressed:
		return append(dst, src...), nil
	case format.Snappy:
		at := len(dst)
		dst = grow(dst, s2.MaxEncodedLen(len(src)))
		out := s2.EncodeSnappy(dst[at:cap(dst)], src)
		return dst[:at+len(out)], nil
	case format.Zstd:
		e, err := zstdEncoder()
		if err != nil {
			return dst, fmt.Errorf("compress zstd: %w", err)
		}
		return e.EncodeAll(src, dst), nil
	case format.Lz4Raw:
		return appendLz4(dst, src)
	case format.Gzip:
		w := gzipWriters.Get().(*gzip.Writer)
		defer gzipWriters.Put(w)
		buf := bytes.NewBuffer(dst)
		w.Reset(buf)
		if _, err := w.Write(src); err != nil {
			return dst, fmt.Errorf("compress gzip: %w", err)
		}
		if err := w.Close(); err != nil {
			return dst, fmt.Errorf("compress gzip: %w", err)
		}
		return buf.Bytes(), nil
	}
	return dst, fmt.Errorf("compress %s: this codec is read but not written", c)
}

// appendLz4 falls back to literals when the compressor finds nothing to
// compress and gives no output.
func appendLz4(dst, src []byte) ([]byte, error) {
	c := lz4Compressors.Get().(*lz4.Compressor)
	defer lz4Compressors.Put(c)
	at := len(dst)
	dst = grow(dst, lz4.CompressBlockBound(len(src)))
	n, err := c.CompressBlock(src, dst[at:cap(dst)])
	if err != nil {
		return dst[:at], fmt.Errorf("compress lz4: %w", err)
	}
	if n > 0 || len(src) == 0 {
		return dst[:at+n], nil
	}
	dst = dst[:at]
	if len(src) < 15 {
		dst = append(dst, byte(len(src))<<4)
	} else {
		dst = append(dst, 0xF0)
		rest := len(src) - 15
		for ; rest >= 255; rest -= 255 {
			dst = append(dst, 255)
		}
		dst = append(dst, byte(rest))
	}
	return append(dst, src...), nil
}

func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	out := make([]byte, len(b), max(len(b)+n, 2*cap(b)))
	copy(out, b)
	return out
}

// Bound is a size that n bytes never exceed when they are compressed; for
// codecs without a stated one Append may still allocate.
func Bound(c format.CompressionCodec, n int) int {
	switch c {
	case format.Snappy:
		return s2.MaxEncodedLen(n)
	case format.Lz4Raw:
		return lz4.CompressBlockBound(n)
	}
	return n + n>>7 + 1024
}
