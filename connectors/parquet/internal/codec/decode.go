package codec

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// MaxPage bounds the uncompressed size of one page. The largest pages in use
// hold one blob each.
const MaxPage = 1 << 30

// Supported returns an error naming the codec when pages of it cannot be read.
func Supported(c format.CompressionCodec) error {
	switch c {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd, format.Lz4, format.Lz4Raw:
		return nil
	case format.LZO:
		return fmt.Errorf("compression codec LZO is not supported: rewrite the file with snappy or zstd")
	}
	return fmt.Errorf("compression codec %d is unknown", int32(c))
}

// maxRatio is the most that one compressed byte of the format can expand to;
// zero stands for no bound worth checking.
func maxRatio(c format.CompressionCodec) int {
	switch c {
	case format.Uncompressed:
		return 1
	case format.Snappy:
		return 32
	case format.Lz4, format.Lz4Raw:
		return 256
	case format.Gzip:
		return 1040
	}
	return 0
}

// Check tells whether a page of the given sizes may be decompressed at all.
func Check(c format.CompressionCodec, compressed, uncompressed int) error {
	if uncompressed > MaxPage {
		return fmt.Errorf("page of %d bytes is over the limit of %d bytes", uncompressed, MaxPage)
	}
	if r := maxRatio(c); r > 0 && uncompressed > compressed*r+64 {
		return fmt.Errorf("page claims %d bytes from %d compressed with %s, which expands at most %d times", uncompressed, compressed, c, r)
	}
	return nil
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxPage), zstd.WithDecodeAllCapLimit(true))
})

// Decode decompresses src into dst, whose length is the size that the page
// header states; any other size is an error.
func Decode(c format.CompressionCodec, dst, src []byte) error {
	n, err := decode(c, dst, src)
	if err != nil {
		return fmt.Errorf("decompress %s: %w", c, err)
	}
	if n != len(dst) {
		return fmt.Errorf("decompress %s: got %d bytes, page header states %d", c, n, len(dst))
	}
	return nil
}

func decode(c format.CompressionCodec, dst, src []byte) (int, error) {
	switch c {
	case format.Uncompressed:
		return copy(dst, src), nil
	case format.Snappy:
		n, err := s2.DecodedLen(src)
		if err != nil || n != len(dst) {
			return n, err
		}
		_, err = s2.Decode(dst, src)
		return n, err
	case format.Lz4Raw:
		return lz4.UncompressBlock(src, dst)
	case format.Lz4:
		return decodeLz4Hadoop(dst, src)
	case format.Zstd:
		d, err := zstdDecoder()
		if err != nil {
			return 0, err
		}
		out, err := d.DecodeAll(src, dst[:0:len(dst)])
		if err == nil && len(out) > 0 && len(dst) > 0 && &out[0] != &dst[0] {
			copy(dst, out)
		}
		return len(out), err
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return 0, err
		}
		return readAll(r, dst)
	case format.Brotli:
		return readAll(brotli.NewReader(bytes.NewReader(src)), dst)
	}
	return 0, Supported(c)
}

// readAll fills dst and makes sure that the stream ends there.
func readAll(r io.Reader, dst []byte) (int, error) {
	n, err := io.ReadFull(r, dst)
	if err != nil && err != io.EOF {
		return n, err
	}
	var one [1]byte
	if extra, err := r.Read(one[:]); extra > 0 {
		return n + extra, nil
	} else if err != nil && err != io.EOF {
		return n, err
	}
	return n, nil
}

// decodeLz4Hadoop reads the deprecated LZ4 codec: blocks framed by two
// big-endian sizes, as Hadoop writes them, or else one raw block.
func decodeLz4Hadoop(dst, src []byte) (int, error) {
	total, in := 0, src
	for len(in) >= 8 {
		raw, packed := int(be32(in)), int(be32(in[4:]))
		if raw > len(dst)-total || packed > len(in)-8 {
			break
		}
		n, err := lz4.UncompressBlock(in[8:8+packed], dst[total:total+raw])
		if err != nil || n != raw {
			break
		}
		total, in = total+n, in[8+packed:]
	}
	if total == len(dst) && len(in) == 0 {
		return total, nil
	}
	return lz4.UncompressBlock(src, dst)
}

func be32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
