package meta

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	bloomHeader = 64 // more than a header takes
	maxBloom    = 128 << 20
)

// Bloom is a split block Bloom filter in a file. Each question reads 32 bytes.
type Bloom struct {
	bits io.ReaderAt
	size int64
}

// ReadBloom finds the Bloom filter of a chunk in a file of size bytes; nil if it has none, or one of a kind that is not known.
func ReadBloom(r io.ReaderAt, size int64, md *ColumnMetaData) (*Bloom, error) {
	if !md.BloomFilterOffset.Valid || md.BloomFilterOffset.V <= 0 {
		return nil, nil
	}
	off := md.BloomFilterOffset.V
	if off > size {
		return nil, fmt.Errorf("filter at %d lies past the end of the file at %d", off, size)
	}
	b := make([]byte, min(bloomHeader, size-off))
	if err := readFull(r, b, off); err != nil {
		return nil, err
	}
	n, err := check(b)
	if err != nil {
		return nil, fmt.Errorf("header at %d: %w", off, err)
	}
	var h format.BloomFilterHeader
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(b[:n])).Decode(&h); err != nil {
		return nil, fmt.Errorf("header at %d: %w", off, err)
	}
	_, split := h.Algorithm.Value.(*format.SplitBlockAlgorithm)
	_, xx := h.Hash.Value.(*format.XxHash)
	_, plain := h.Compression.Value.(*format.BloomFilterUncompressed)
	if !split || !xx || !plain {
		return nil, nil
	}
	if h.NumBytes <= 0 || h.NumBytes%bloom.BlockSize != 0 || h.NumBytes > maxBloom || int64(h.NumBytes) > size-off-int64(n) {
		return nil, fmt.Errorf("filter at %d claims %d bytes, the limit is %d and the file has %d bytes", off, h.NumBytes, maxBloom, size)
	}
	return &Bloom{io.NewSectionReader(r, off+int64(n), int64(h.NumBytes)), int64(h.NumBytes)}, nil
}

// MayHave tells whether a value of that hash may be in the column.
func (b *Bloom) MayHave(hash uint64) (bool, error) {
	ok, err := bloom.CheckSplitBlock(b.bits, b.size, hash)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return ok, err
}

// AppendBloom appends a filter behind its header.
func AppendBloom(b []byte, f bloom.SplitBlockFilter) ([]byte, error) {
	h := format.BloomFilterHeader{NumBytes: int32(len(f) * bloom.BlockSize)}
	h.Algorithm.Value = new(format.SplitBlockAlgorithm)
	h.Hash.Value = new(format.XxHash)
	h.Compression.Value = new(format.BloomFilterUncompressed)
	enc, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		return b, fmt.Errorf("write Bloom filter: %w", err)
	}
	return append(append(b, enc...), f.Bytes()...), nil
}
