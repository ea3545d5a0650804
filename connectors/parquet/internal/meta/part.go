package meta

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// Part is the footer of a file whose row groups are wanted one at a time: as structures, those of a table of thousands of columns take many
// times as much.
type Part struct {
	FileMetaData // without row groups
	groups       cursor
	left, leaves int
	given        int
	rows, size   int64
}

// ReadPart is Read for such files. Row groups are validated as they are taken.
func ReadPart(r io.ReaderAt, size int64) (*Part, error) {
	footer, n, err := wholeFooter(r, size)
	if err != nil {
		return nil, err
	}
	from, to, err := listAt(footer[:n], rowGroupsField)
	if err != nil {
		return nil, fmt.Errorf("read footer of %d bytes: %w", len(footer), err)
	}
	rest := slices.Concat(footer[:from], listHeader(0), footer[to:])
	m, err := decodeFooter(rest, len(rest)-len(footer)+n)
	if err != nil {
		return nil, err
	}
	p := &Part{FileMetaData: *m, groups: cursor{b: footer, pos: from}, size: size}
	if p.left, _, err = p.groups.list(); err == nil {
		p.leaves, err = countLeaves(m.Schema)
	}
	if err != nil {
		return nil, fmt.Errorf("read footer: %w", err)
	}
	return p, nil
}

// Next returns the next row group, which is the caller's, or nil behind the last one.
func (p *Part) Next() (rg *RowGroup, err error) {
	if p.left == 0 {
		if p.rows != p.NumRows {
			return nil, fmt.Errorf("read footer: file claims %d rows, its row groups have %d", p.NumRows, p.rows)
		}
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			rg, err = nil, fmt.Errorf("read footer: malformed metadata: %v", v)
		}
	}()
	from := p.groups.pos
	if err := p.groups.skip(tStruct, false, 1); err != nil {
		return nil, fmt.Errorf("read footer: row group %d: %w", p.given, err)
	}
	rg = new(RowGroup)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), p.groups.b[from:p.groups.pos], rg); err != nil {
		return nil, fmt.Errorf("read footer: row group %d: %w", p.given, err)
	}
	if err := rg.validate(p.leaves, p.size); err != nil {
		return nil, fmt.Errorf("read footer: row group %d%w", p.given, err)
	}
	p.left, p.given, p.rows = p.left-1, p.given+1, p.rows+rg.NumRows
	return rg, nil
}
