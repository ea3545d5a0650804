package arrowipc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/sluice-data/sluice/dataset"
)

// maxWindow bounds what a zstd frame can make the decompressor hold.
const maxWindow = 128 << 20

var (
	lz4Readers = sync.Pool{New: func() any { return lz4.NewReader(nil) }}
	// zstdDecoder is shared: DecodeAll is safe for concurrent use. Its output is bounded by the capacity that it is given.
	zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeAllCapLimit(true))
	})
)

// unpack decompresses one buffer: its length decoded, then the frame; -1 marks bytes that were stored as they are.
func (w *walk) unpack(p []byte) (*memory.Buffer, error) {
	if len(p) < 8 {
		return nil, fmt.Errorf("%w: a compressed buffer of %d bytes", errDamaged, len(p))
	}
	n := int64(binary.LittleEndian.Uint64(p))
	p = p[8:]
	stored := n == -1
	if stored {
		n = int64(len(p))
	}
	if n < 0 {
		return nil, fmt.Errorf("%w: a buffer of %d bytes", errDamaged, n)
	}
	if n > w.left {
		return nil, w.tooLarge(n)
	}
	w.left -= n
	if n == 0 {
		return nil, nil
	}
	b := memory.NewResizableBuffer(w.mem)
	b.Resize(int(n))
	var err error
	switch {
	case stored:
		copy(b.Bytes(), p)
	case w.codec == lz4Frame:
		err = unpackLZ4(b.Bytes(), p)
	default:
		err = unpackZstd(b.Bytes(), p)
	}
	if err != nil {
		b.Release()
		return nil, fmt.Errorf("decompress %s into %s: %w", dataset.ByteSize(len(p)), dataset.ByteSize(n), err)
	}
	return b, nil
}

func unpackLZ4(out, p []byte) error {
	r, _ := lz4Readers.Get().(*lz4.Reader)
	defer lz4Readers.Put(r)
	r.Reset(bytes.NewReader(p))
	if _, err := io.ReadFull(r, out); err != nil {
		return err
	}
	var one [1]byte
	if n, err := r.Read(one[:]); n > 0 || err != io.EOF {
		return fmt.Errorf("%w: more bytes than were announced, or %v", errDamaged, err)
	}
	return nil
}

func unpackZstd(out, p []byte) error {
	z, err := zstdDecoder()
	if err != nil {
		return err
	}
	got, err := z.DecodeAll(p, out[:0:len(out)])
	if err == nil && len(got) != len(out) {
		err = fmt.Errorf("%w: %d bytes, %d were announced", errDamaged, len(got), len(out))
	}
	return err
}
