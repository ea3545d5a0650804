package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// Part is one whole Parquet file to be joined.
type Part struct {
	io.ReaderAt
	Size int64
}

// copyBuffer is how much Concat moves at a time.
const copyBuffer = 1 << 20

// Concat writes one file with the row groups of all parts, in order, copying
// their pages as they are. The parts must have the same schema; the key-value
// metadata of the first one is kept, Bloom filters and page indexes come along.
// It returns the number of rows.
func Concat(ctx context.Context, dst io.Writer, parts ...Part) (rows int64, err error) {
	if len(parts) == 0 {
		return 0, errors.New("join parquet files: there are none")
	}
	var out *meta.Footer
	at := int64(len(meta.Magic))
	if _, err := io.WriteString(dst, meta.Magic); err != nil {
		return 0, fmt.Errorf("join parquet files: %w", err)
	}
	buf := make([]byte, copyBuffer)
	for i, p := range parts {
		m, err := meta.ReadPart(p, p.Size)
		if err != nil {
			return 0, fmt.Errorf("join parquet files: part %d: %w", i, err)
		}
		if out == nil {
			out = &meta.Footer{FileMetaData: m.FileMetaData}
			out.RowGroups, out.NumRows = nil, 0
		} else if err := sameSchema(&out.FileMetaData, &m.FileMetaData); err != nil {
			return 0, fmt.Errorf("join parquet files: part %d: %w", i, err)
		}
		for g := 0; ; g++ {
			rg, err := m.Next()
			if err != nil {
				return 0, fmt.Errorf("join parquet files: part %d: %w", i, err)
			}
			if rg == nil {
				break
			}
			if out.Groups() == maxRowGroups {
				return 0, fmt.Errorf("join parquet files: more than %d row groups, the most a file can have: write larger ones", maxRowGroups)
			}
			n, indexes, err := copyRowGroup(ctx, dst, at, p, rg, buf)
			if err != nil {
				return 0, fmt.Errorf("join parquet files: part %d, row group %d: %w", i, g, err)
			}
			rg.Ordinal = thrift.New(int16(out.Groups()))
			rg.FileOffset = thrift.New(at)
			at += n
			if err := out.Add(rg, indexes); err != nil {
				return 0, fmt.Errorf("join parquet files: %w", err)
			}
		}
	}
	if _, err := out.Write(dst, at); err != nil {
		return 0, fmt.Errorf("join parquet files: %w", err)
	}
	return out.NumRows, nil
}

// copyRowGroup copies the chunks of rg from src, a file of size bytes, to dst, which is at offset at, then their Bloom filters, and moves the
// offsets in rg there. It returns how many bytes that took, and the page indexes.
func copyRowGroup(ctx context.Context, dst io.Writer, at int64, src Part, rg *meta.RowGroup, buf []byte) (total int64, indexes []meta.Index, err error) {
	for c := range rg.Columns {
		chunk := &rg.Columns[c]
		md := &chunk.MetaData.V
		start, size := chunk.Start(), md.TotalCompressedSize
		if err := copyBytes(ctx, dst, src, start, size, buf); err != nil {
			return total, nil, err
		}
		shift := at + total - start
		indexes = append(indexes, meta.MovedIndex(src, src.Size, chunk, rg.NumRows, shift))
		md.DataPageOffset += shift
		if md.DictionaryPageOffset.Valid && md.DictionaryPageOffset.V > 0 {
			md.DictionaryPageOffset.V += shift
		}
		md.IndexPageOffset = thrift.Null[int64]{}
		chunk.FileOffset = 0
		chunk.ColumnIndexOffset, chunk.ColumnIndexLength = thrift.Null[int64]{}, thrift.Null[int32]{}
		chunk.OffsetIndexOffset, chunk.OffsetIndexLength = thrift.Null[int64]{}, thrift.Null[int32]{}
		total += size
	}
	for c := range rg.Columns {
		md := &rg.Columns[c].MetaData.V
		off, size := md.BloomFilterOffset.V, int64(md.BloomFilterLength.V)
		if off <= 0 || size <= 0 || off > src.Size || size > src.Size-off { // of a length that only its header tells
			md.BloomFilterOffset, md.BloomFilterLength = thrift.Null[int64]{}, thrift.Null[int32]{}
			continue
		}
		if err := copyBytes(ctx, dst, src, off, size, buf); err != nil {
			return total, nil, err
		}
		md.BloomFilterOffset.V = at + total
		total += size
	}
	return total, indexes, nil
}

func copyBytes(ctx context.Context, dst io.Writer, src io.ReaderAt, start, size int64, buf []byte) error {
	for off := start; off < start+size; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b := buf[:min(int64(len(buf)), start+size-off)]
		if n, err := src.ReadAt(b, off); n < len(b) {
			return fmt.Errorf("read %d bytes at %d: got %d: %w", len(b), off, n, err)
		}
		if _, err := dst.Write(b); err != nil {
			return err
		}
		off += int64(len(b))
	}
	return nil
}

// sameSchema compares the schemas as they are stored, names of the roots and
// field ids aside.
func sameSchema(a, b *meta.FileMetaData) error {
	if len(a.Schema) != len(b.Schema) {
		return fmt.Errorf("schema has %d elements, the first part's has %d", len(b.Schema), len(a.Schema))
	}
	for i := 1; i < len(a.Schema); i++ {
		x, y := a.Schema[i], b.Schema[i]
		x.FieldID, y.FieldID = thrift.Null[int32]{}, thrift.Null[int32]{}
		lx, ly := x.LogicalType.String(), y.LogicalType.String()
		x.LogicalType.Value, y.LogicalType.Value = nil, nil
		if x != y || lx != ly {
			return fmt.Errorf("column %q differs from the first part's %q: parts of one result must have one schema", y.Name, x.Name)
		}
	}
	return nil
}
