package file

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxZstdWindow bounds what a zstd frame can make the reader hold: its default of the zstd tool's --long mode.
const maxZstdWindow = 128 << 20

// Compression is the compression that a path's last extension names: "gzip", "zstd" or "".
func Compression(p string) string {
	switch strings.ToLower(path.Ext(withoutQuery(p))) {
	case ".gz":
		return "gzip"
	case ".zst", ".zstd":
		return "zstd"
	}
	return ""
}

// Decompress reads r through the decompressor of that name; "" reads it as it is. Closing it does not close r.
func Decompress(r io.Reader, name string) (io.ReadCloser, error) {
	switch name {
	case "":
		return io.NopCloser(r), nil
	case "gzip":
		return gzip.NewReader(bufio.NewReaderSize(r, 256<<10))
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("decompress: unknown compression %q", name)
}
