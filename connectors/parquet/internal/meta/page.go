package meta

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// PageHeader is the header of a data or dictionary page, with the fields of
// the three kinds folded together.
type PageHeader struct {
	Type             format.PageType
	UncompressedSize int32
	CompressedSize   int32
	NumValues        int32 // levels, nulls included
	Encoding         format.Encoding
	DefEncoding      format.Encoding // V1
	RepEncoding      format.Encoding // V1
	NumNulls         int32           // V2
	NumRows          int32           // V2
	DefLength        int32           // V2
	RepLength        int32           // V2
	Compressed       bool            // V2; true elsewhere
	CRC              uint32
	HasCRC           bool
}

// ErrShortHeader says that b ended inside a page header.
var ErrShortHeader = errShort

// ParsePageHeader decodes the page header at the start of b and returns its
// length. When b is too short the error is [ErrShortHeader].
func ParsePageHeader(b []byte, h *PageHeader) (int, error) {
	*h = PageHeader{Type: -1, UncompressedSize: -1, CompressedSize: -1, NumValues: -1, Compressed: true}
	c := cursor{b: b}
	last := int16(0)
	for {
		id, typ, err := c.field(last)
		if err != nil {
			return 0, err
		}
		if typ == tStop {
			break
		}
		last = id
		switch {
		case id <= 4 && typ == tI32:
			v, err := c.varint()
			if err != nil {
				return 0, err
			}
			h.setTop(id, int32(v))
		case (id == 5 || id == 7 || id == 8) && typ == tStruct:
			if err := h.parseBody(&c, id); err != nil {
				return 0, err
			}
		default:
			if err := c.skip(typ, false, 1); err != nil {
				return 0, err
			}
		}
	}
	return c.pos, h.validate()
}

func (h *PageHeader) setTop(id int16, v int32) {
	switch id {
	case 1:
		h.Type = format.PageType(v)
	case 2:
		h.UncompressedSize = v
	case 3:
		h.CompressedSize = v
	case 4:
		h.CRC, h.HasCRC = uint32(v), true
	}
}

func (h *PageHeader) parseBody(c *cursor, kind int16) error {
	last := int16(0)
	for {
		id, typ, err := c.field(last)
		if err != nil {
			return err
		}
		last = id
		switch typ {
		case tStop:
			return nil
		case tI32:
			v, err := c.varint()
			if err != nil {
				return err
			}
			h.setBody(kind, id, int32(v))
		case tTrue, tFalse:
			if kind == 8 && id == 7 {
				h.Compressed = typ == tTrue
			}
		default:
			if err := c.skip(typ, false, 2); err != nil {
				return err
			}
		}
	}
}

func (h *PageHeader) setBody(kind, id int16, v int32) {
	if id == 1 {
		h.NumValues = v
		return
	}
	switch kind {
	case 5: // data page
		switch id {
		case 2:
			h.Encoding = format.Encoding(v)
		case 3:
			h.DefEncoding = format.Encoding(v)
		case 4:
			h.RepEncoding = format.Encoding(v)
		}
	case 7: // dictionary page
		if id == 2 {
			h.Encoding = format.Encoding(v)
		}
	case 8: // data page V2
		switch id {
		case 2:
			h.NumNulls = v
		case 3:
			h.NumRows = v
		case 4:
			h.Encoding = format.Encoding(v)
		case 5:
			h.DefLength = v
		case 6:
			h.RepLength = v
		}
	}
}

func (h *PageHeader) validate() error {
	if h.Type < 0 {
		return errors.New("page header has no type")
	}
	if h.CompressedSize < 0 || h.UncompressedSize < 0 {
		return fmt.Errorf("page header has sizes %d compressed, %d uncompressed", h.CompressedSize, h.UncompressedSize)
	}
	if h.Type == format.IndexPage {
		return nil
	}
	if h.NumValues < 0 || h.NumNulls < 0 || h.NumRows < 0 || h.NumNulls > h.NumValues {
		return fmt.Errorf("page header counts %d values, %d nulls, %d rows", h.NumValues, h.NumNulls, h.NumRows)
	}
	if h.DefLength < 0 || h.RepLength < 0 || int64(h.DefLength)+int64(h.RepLength) > int64(h.UncompressedSize) {
		return fmt.Errorf("page header has levels of %d and %d bytes in a page of %d bytes", h.RepLength, h.DefLength, h.UncompressedSize)
	}
	return nil
}

// AppendPageHeader appends h, a V1 data page or a dictionary page, to b.
func AppendPageHeader(b []byte, h *PageHeader) ([]byte, error) {
	out := format.PageHeader{
		Type:                 h.Type,
		UncompressedPageSize: h.UncompressedSize,
		CompressedPageSize:   h.CompressedSize,
	}
	switch h.Type {
	case format.DictionaryPage:
		out.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: h.NumValues, Encoding: h.Encoding})
	case format.DataPage:
		out.DataPageHeader = thrift.New(format.DataPageHeader{
			NumValues: h.NumValues, Encoding: h.Encoding,
			DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		})
	default:
		return b, fmt.Errorf("write page header: unsupported page type %s", h.Type)
	}
	w := bytes.NewBuffer(b)
	err := thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(w)).Encode(&out)
	return w.Bytes(), err
}
