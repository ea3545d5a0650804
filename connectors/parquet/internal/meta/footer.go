package meta

import (
	"bytes"
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
	FileMetaData  // without row groups
	groups        []addedGroup
	size, indexes int // bytes of the row groups and of their page indexes
}

// addedGroup is a row group as encoded, with the page indexes of its chunks one behind the other; sizes are those of the column and the
// offset index of each, nil if there are none.
type addedGroup struct {
	enc, columns, offsets []byte
	sizes                 [][2]int32
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
	if f.size+len(enc) > MaxFooter {
		return fmt.Errorf("write footer: it takes more than the limit of %d bytes with %d row groups: write larger ones", MaxFooter, len(f.groups)+1)
	}
	g := addedGroup{enc: bytes.Clone(enc)} // of its own length: there may be thousands
	g.keep(indexes, keptIndexes-f.indexes)
	f.groups = append(f.groups, g)
	f.size += len(g.enc)
	f.indexes += len(g.columns) + len(g.offsets)
	f.NumRows += rg.NumRows
	return nil
}

// keep joins page indexes, if they take at most so many bytes.
func (g *addedGroup) keep(indexes []Index, most int) {
	columns, offsets := 0, 0
	for _, ix := range indexes {
		columns, offsets = columns+len(ix.Columns), offsets+len(ix.Offsets)
	}
	if columns+offsets == 0 || columns+offsets > most {
		return
	}
	g.columns, g.offsets, g.sizes = make([]byte, 0, columns), make([]byte, 0, offsets), make([][2]int32, len(indexes))
	for i, ix := range indexes {
		if len(ix.Columns) <= maxIndex && len(ix.Offsets) <= maxIndex {
			g.sizes[i] = [2]int32{int32(len(ix.Columns)), int32(len(ix.Offsets))}
			g.columns, g.offsets = append(g.columns, ix.Columns...), append(g.offsets, ix.Offsets...)
		}
	}
}

// Groups is the number of row groups.
func (f *Footer) Groups() int { return len(f.groups) }

// rowGroupsField is the number of the list of row groups in FileMetaData.
const rowGroupsField = 4

// Write writes the page indexes, the footer and the closing magic bytes to w, which is at offset at of the file, and returns how many bytes.
// Row groups are written one after the other: they are never all in memory once more.
func (f *Footer) Write(w io.Writer, at int64) (int64, error) {
	out := counted{w: w}
	if err := f.write(&out, at); err != nil {
		return out.n, fmt.Errorf("write footer: %w", err)
	}
	return out.n, nil
}

func (f *Footer) write(w *counted, at int64) error {
	places := places{column: at, offset: at}
	for _, g := range f.groups {
		if err := w.put(g.columns); err != nil {
			return err
		}
		places.offset += int64(len(g.columns))
	}
	for _, g := range f.groups {
		if err := w.put(g.offsets); err != nil {
			return err
		}
	}
	f.RowGroups = []RowGroup{}
	enc, err := thrift.Marshal(new(thrift.CompactProtocol), &f.FileMetaData)
	if err != nil {
		return err
	}
	from, to, err := listAt(enc, rowGroupsField)
	if err != nil {
		return err
	}
	begin := w.n
	if err := w.put(append(enc[:from:from], listHeader(len(f.groups))...)); err != nil {
		return err
	}
	for _, g := range f.groups {
		b, err := g.placed(&places)
		if err == nil {
			err = w.put(b)
		}
		if err != nil {
			return err
		}
	}
	if err := w.put(enc[to:]); err != nil {
		return err
	}
	n := w.n - begin
	if n > MaxFooter {
		return fmt.Errorf("it takes %d bytes, over the limit of %d: write larger row groups", n, MaxFooter)
	}
	return w.put(append(binary.LittleEndian.AppendUint32(nil, uint32(n)), magic...))
}

// counted counts the bytes that go to w.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) put(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := c.w.Write(b)
	c.n += int64(n)
	return err
}

// listHeader begins a list of n structures.
func listHeader(n int) []byte {
	if n < 15 {
		return []byte{byte(n)<<4 | tStruct}
	}
	return binary.AppendUvarint([]byte{0xF0 | tStruct}, uint64(n))
}

// places is where the next column index and the next offset index lie in the file.
type places struct{ column, offset int64 }

// placed returns the row group with the places of its page indexes.
func (g *addedGroup) placed(at *places) ([]byte, error) {
	if g.sizes == nil {
		return g.enc, nil
	}
	var rg RowGroup
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), g.enc, &rg); err != nil {
		return nil, err
	}
	for i, size := range g.sizes {
		chunk := &rg.Columns[i]
		if size[0] > 0 {
			chunk.ColumnIndexOffset, chunk.ColumnIndexLength = thrift.New(at.column), thrift.New(size[0])
		}
		if size[1] > 0 {
			chunk.OffsetIndexOffset, chunk.OffsetIndexLength = thrift.New(at.offset), thrift.New(size[1])
		}
		at.column, at.offset = at.column+int64(size[0]), at.offset+int64(size[1])
	}
	return thrift.Marshal(new(thrift.CompactProtocol), &rg)
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
