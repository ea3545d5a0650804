package meta

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// Footer gathers the metadata of a file that is being written. Row groups are kept as the bytes that the footer will have: as structures
// those of a table of thousands of columns would take many times as much.
type Footer struct {
	FileMetaData // without row groups
	groups       []byte
	count        int
}

// Add adds a row group.
func (f *Footer) Add(rg *RowGroup) error {
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
	return nil
}

// Groups is the number of row groups.
func (f *Footer) Groups() int { return f.count }

// rowGroupsField is the number of the list of row groups in FileMetaData.
const rowGroupsField = 4

// Append appends the footer and the closing magic bytes to b.
func (f *Footer) Append(b []byte) ([]byte, error) {
	f.RowGroups = []RowGroup{}
	enc, err := thrift.Marshal(new(thrift.CompactProtocol), &f.FileMetaData)
	if err != nil {
		return b, fmt.Errorf("write footer: %w", err)
	}
	at, end, err := listAt(enc, rowGroupsField)
	if err != nil {
		return b, fmt.Errorf("write footer: %w", err)
	}
	start := len(b)
	b = append(b, enc[:at]...)
	if f.count < 15 {
		b = append(b, byte(f.count)<<4|tStruct)
	} else {
		b = binary.AppendUvarint(append(b, 0xF0|tStruct), uint64(f.count))
	}
	b = append(b, f.groups...)
	b = append(b, enc[end:]...)
	if n := len(b) - start; n > MaxFooter {
		return b, fmt.Errorf("write footer: it takes %d bytes, over the limit of %d: write larger row groups", n, MaxFooter)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)-start))
	return append(b, magic...), nil
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
