package meta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// Footer gathers the metadata of a file that is being written. Row groups are kept as the bytes that the footer will have: as structures
// those of a table of thousands of columns would take many times as much. Page indexes are kept until the end, because there readers expect
// them, side by side.
type Footer struct {
	FileMetaData     // without row groups
	groups           []byte
	count            int
	columns, offsets []byte     // page indexes
	sizes            [][2]int32 // of the column and the offset index of each chunk
}

// keptIndexes bounds the page indexes of a file: those of row groups behind it are left out, and these read as a whole. With pages of the usual
// size it is reached after some 100 GB.
const keptIndexes = 32 << 20

// Add adds a row group, with the page indexes of its chunks.
func (f *Footer) Add(rg *RowGroup, indexes []Index) error {
	enc, err := thrift.Marshal(new(thrift.CompactProtocol), rg)
	if err != nil {
		return fmt.Errorf("write row group metadata: %w", err)
	}
	if len(f.groups)+len(enc) > MaxFooter {
		return fmt.Errorf("write footer: it takes more than the limit of %d bytes with %d row groups: write larger ones", MaxFooter, f.count+1)
	}
	f.groups = append(f.groups, enc...)
	f.count++
	f.NumRows += rg.NumRows
	more := 0
	for _, ix := range indexes {
		more += len(ix.Columns) + len(ix.Offsets)
	}
	fits := len(f.columns)+len(f.offsets)+more <= keptIndexes
	for i := range rg.Columns {
		var size [2]int32
		if fits && i < len(indexes) && len(indexes[i].Columns) <= maxIndex && len(indexes[i].Offsets) <= maxIndex {
			ix := &indexes[i]
			size = [2]int32{int32(len(ix.Columns)), int32(len(ix.Offsets))}
			f.columns, f.offsets = append(f.columns, ix.Columns...), append(f.offsets, ix.Offsets...)
		}
		f.sizes = append(f.sizes, size)
	}
	return nil
}

// Groups is the number of row groups.
func (f *Footer) Groups() int { return f.count }

// rowGroupsField is the number of the list of row groups in FileMetaData.
const rowGroupsField = 4

// Write writes the page indexes, the footer and the closing magic bytes to w, which is at offset at of the file, and returns how many bytes.
func (f *Footer) Write(w io.Writer, at int64) (int64, error) {
	b, err := f.encode(at)
	if err != nil {
		return 0, fmt.Errorf("write footer: %w", err)
	}
	total := int64(0)
	for _, part := range [][]byte{f.columns, f.offsets, b} {
		n, err := w.Write(part)
		if total += int64(n); err != nil {
			return total, err
		}
	}
	return total, nil
}

// encode returns the footer with its length and the magic bytes, for a file whose page indexes begin at offset at.
func (f *Footer) encode(at int64) ([]byte, error) {
	groups, err := f.placed(at)
	if err != nil {
		return nil, err
	}
	f.RowGroups = []RowGroup{}
	enc, err := thrift.Marshal(new(thrift.CompactProtocol), &f.FileMetaData)
	if err != nil {
		return nil, err
	}
	from, to, err := listAt(enc, rowGroupsField)
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, len(enc)+len(groups)+tailSize+8), enc[:from]...)
	if f.count < 15 {
		b = append(b, byte(f.count)<<4|tStruct)
	} else {
		b = binary.AppendUvarint(append(b, 0xF0|tStruct), uint64(f.count))
	}
	b = append(b, groups...)
	b = append(b, enc[to:]...)
	if len(b) > MaxFooter {
		return nil, fmt.Errorf("it takes %d bytes, over the limit of %d: write larger row groups", len(b), MaxFooter)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	return append(b, magic...), nil
}

// placed returns the row groups with the places of their page indexes, of which the first lies at offset at.
func (f *Footer) placed(at int64) ([]byte, error) {
	if len(f.offsets) == 0 {
		return f.groups, nil
	}
	out := make([]byte, 0, len(f.groups)+len(f.groups)/8)
	c, sizes := cursor{b: f.groups}, f.sizes
	columnAt, offsetAt := at, at+int64(len(f.columns))
	for range f.count {
		from := c.pos
		if err := c.skip(tStruct, false, 1); err != nil {
			return nil, err
		}
		var rg RowGroup
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), f.groups[from:c.pos], &rg); err != nil {
			return nil, err
		}
		for i := range rg.Columns {
			chunk, size := &rg.Columns[i], sizes[i]
			if size[0] > 0 {
				chunk.ColumnIndexOffset, chunk.ColumnIndexLength = thrift.New(columnAt), thrift.New(size[0])
			}
			if size[1] > 0 {
				chunk.OffsetIndexOffset, chunk.OffsetIndexLength = thrift.New(offsetAt), thrift.New(size[1])
			}
			columnAt, offsetAt = columnAt+int64(size[0]), offsetAt+int64(size[1])
		}
		sizes = sizes[len(rg.Columns):]
		enc, err := thrift.Marshal(new(thrift.CompactProtocol), &rg)
		if err != nil {
			return nil, err
		}
		out = append(out, enc...)
	}
	return out, nil
}

// listAt finds the list in a field of a structure.
func listAt(b []byte, field int16) (at, end int, err error) {
	c := cursor{b: b}
	last := int16(0)
	for {
		id, typ, err := c.field(last)
		if err != nil {
			return 0, 0, err
		}
		if typ == tStop {
			return 0, 0, errors.New("metadata has no row groups")
		}
		at = c.pos
		if err := c.skip(typ, false, 1); err != nil {
			return 0, 0, err
		}
		if last = id; id == field {
			return at, c.pos, nil
		}
	}
}
