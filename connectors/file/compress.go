package file

import (
	"bufio"
	"bytes"
	stdbzip2 "compress/bzip2"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	xzwriter "github.com/ulikunitz/xz"
	"github.com/xi2/xz"

	"github.com/sluice-data/sluice/dataset"
)

// maxWindow bounds what a frame of zstd or a block of xz can make the reader hold: the default of the zstd tool's --long mode, and twice
// what xz -9 asks for.
const maxWindow = 128 << 20

// packedBuffer is how much of a compressed file is read at once.
const packedBuffer = 256 << 10

// codec is one compression.
type codec struct {
	name     string
	suffixes []string // the first is that of files that are written
	magic    string
	reader   func(io.Reader) (io.ReadCloser, error)
	writer   func(io.Writer) (io.WriteCloser, error)
}

// codecs are the compressions, in the order in which messages name them. Files of all of them may hold several members or frames, one after
// another; their contents follow each other.
var codecs = []codec{
	{"gzip", []string{".gz"}, "\x1f\x8b\x08", func(r io.Reader) (io.ReadCloser, error) {
		return gzip.NewReader(bufio.NewReaderSize(r, packedBuffer))
	}, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }},
	{"zstd", []string{".zst", ".zstd"}, "\x28\xb5\x2f\xfd", func(r io.Reader) (io.ReadCloser, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}, func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	}},
	{"bzip2", []string{".bz2"}, "BZh", func(r io.Reader) (io.ReadCloser, error) {
		return io.NopCloser(stdbzip2.NewReader(bufio.NewReaderSize(r, packedBuffer))), nil
	}, func(w io.Writer) (io.WriteCloser, error) { return bzip2.NewWriter(w, nil) }},
	{"xz", []string{".xz"}, "\xfd7zXZ\x00", func(r io.Reader) (io.ReadCloser, error) {
		z, err := xz.NewReader(bufio.NewReaderSize(r, packedBuffer), maxWindow)
		return io.NopCloser(z), err
	}, func(w io.Writer) (io.WriteCloser, error) { return xzwriter.NewWriter(w) }},
	{"lz4", []string{".lz4"}, "\x04\x22\x4d\x18", func(r io.Reader) (io.ReadCloser, error) {
		return io.NopCloser(lz4.NewReader(bufio.NewReaderSize(r, packedBuffer))), nil
	}, func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil }},
}

// bzip2Block are the bytes behind the magic of bzip2, which is short enough to begin a text: the level, then the magic of a block or of the end.
const (
	bzip2Block = "\x31\x41\x59\x26\x53\x59"
	bzip2End   = "\x17\x72\x45\x38\x50\x90"
)

// magicBytes is how many first bytes tell every compression.
const magicBytes = 10

// compressionOf is the compression that the first bytes of a file show, "" for none.
func compressionOf(head []byte) string {
	for _, c := range codecs {
		if !bytes.HasPrefix(head, []byte(c.magic)) {
			continue
		}
		if c.name == "bzip2" && (len(head) < magicBytes || string(head[4:10]) != bzip2Block && string(head[4:10]) != bzip2End) {
			continue
		}
		return c.name
	}
	return ""
}

// findCodec finds a compression by name.
func findCodec(name string) (codec, error) {
	if i := slices.IndexFunc(codecs, func(c codec) bool { return c.name == name }); i >= 0 {
		return codecs[i], nil
	}
	return codec{}, fmt.Errorf("unknown compression %q", name)
}

// Compression is the compression that a path's last extension names: "gzip", "zstd", "bzip2", "xz", "lz4" or "".
func Compression(p string) string {
	ext := strings.ToLower(path.Ext(withoutQuery(p)))
	for _, c := range codecs {
		if slices.Contains(c.suffixes, ext) {
			return c.name
		}
	}
	return ""
}

// ParseCompression reads the compression option of a writer: the name of a compression, which comes back, or none, which comes back empty.
func ParseCompression(name string) (string, error) {
	if name == "" || name == "none" {
		return "", nil
	}
	if name == "bz2" {
		name = "bzip2"
	}
	if _, err := findCodec(name); err == nil {
		return name, nil
	}
	return "", dataset.Usagef("compression=%s: must be gzip, zstd, bzip2, xz, lz4 or none", name)
}

// PackedExtension is the extension of files of a format that are compressed: ext and a suffix.
func PackedExtension(ext, compression string) string {
	if c, err := findCodec(compression); err == nil {
		return ext + c.suffixes[0]
	}
	return ext
}

// Decompress reads r through the decompressor of that name; "" reads it as it is. Closing it does not close r.
func Decompress(r io.Reader, name string) (io.ReadCloser, error) {
	if name == "" {
		return io.NopCloser(r), nil
	}
	c, err := findCodec(name)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return c.reader(r)
}

// Compress writes to w through the compressor of that name; "" writes as it is. Closing it ends the compressed file and does not close w.
func Compress(w io.Writer, name string) (io.WriteCloser, error) {
	if name == "" {
		return nopWriteCloser{w}, nil
	}
	c, err := findCodec(name)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return c.writer(w)
}

// Packed is a text as a whole compressed file, or member or frame of one: the same text gives the same bytes. "" gives the text.
func Packed(text []byte, name string) ([]byte, error) {
	var out bytes.Buffer
	z, err := Compress(&out, name)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(text)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

type nopWriteCloser struct{ io.Writer }

// Close implements io.Closer.
func (nopWriteCloser) Close() error { return nil }
