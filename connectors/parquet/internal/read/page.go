package read

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/codec"
	"github.com/sluice-data/sluice/connectors/parquet/internal/level"
	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// maxNestedLevels bounds the levels of one page of a nested column, which are
// decoded at once. Writers put some ten thousand rows in a page.
const maxNestedLevels = 64 << 20

// advance makes the next data page current, decoding a dictionary on the way.
// io.EOF says that the chunk is over.
func (l *leaf) advance() error {
	for {
		var h meta.PageHeader
		if err := l.src.header(&h); err != nil {
			return err
		}
		if l.skip > 0 && h.Type != format.DictionaryPage && l.skipPage(&h) {
			if err := l.src.discard(int(h.CompressedSize)); err != nil {
				return err
			}
			continue
		}
		body, err := l.src.take(int(h.CompressedSize))
		if err != nil {
			return err
		}
		if h.HasCRC && crc32.ChecksumIEEE(body) != h.CRC {
			return fmt.Errorf("page is damaged: its checksum is %08x, the header says %08x", crc32.ChecksumIEEE(body), h.CRC)
		}
		switch h.Type {
		case format.DictionaryPage:
			err = l.loadDictionary(&h, body)
		case format.DataPage:
			l.pages++
			return l.loadV1(&h, body)
		case format.DataPageV2:
			l.pages++
			return l.loadV2(&h, body)
		}
		if err != nil {
			return err
		}
	}
}

// skipPage steps over a whole page of rows that are not wanted. Only pages
// whose header tells their rows can be skipped unread.
func (l *leaf) skipPage(h *meta.PageHeader) bool {
	rows := 0
	switch {
	case h.Type == format.DataPageV2:
		rows = int(h.NumRows)
	case h.Type == format.DataPage && l.col.MaxRep == 0:
		rows = int(h.NumValues)
	default:
		return false
	}
	if rows > l.skip {
		return false
	}
	l.skip -= rows
	return true
}

// inflate decompresses body into the leaf's page buffer. Uncompressed bytes
// are used where they lie.
func (l *leaf) inflate(c format.CompressionCodec, body []byte, size int) ([]byte, error) {
	if c == format.Uncompressed {
		if len(body) != size {
			return nil, fmt.Errorf("uncompressed page has %d bytes, its header says %d", len(body), size)
		}
		return body, nil
	}
	if err := codec.Check(c, len(body), size); err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, nil
	}
	dst := l.page.grow(size, 0)
	return dst, codec.Decode(c, dst, body)
}

func (l *leaf) loadV1(h *meta.PageHeader, body []byte) error {
	b, err := l.inflate(l.codec, body, int(h.UncompressedSize))
	if err != nil {
		return err
	}
	var rep, def []byte
	if l.col.MaxRep > 0 {
		if rep, b, err = prefixed(b, h.RepEncoding); err != nil {
			return fmt.Errorf("repetition levels: %w", err)
		}
	}
	if l.col.MaxDef > 0 {
		if def, b, err = prefixed(b, h.DefEncoding); err != nil {
			return fmt.Errorf("definition levels: %w", err)
		}
	}
	return l.start(h, rep, def, b)
}

// prefixed cuts off levels that follow their length.
func prefixed(b []byte, enc format.Encoding) (levels, rest []byte, err error) {
	if enc != format.RLE {
		return nil, nil, fmt.Errorf("encoding %s of levels is not supported, only RLE", enc)
	}
	if len(b) < 4 {
		return nil, nil, io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint32(b)
	if int64(n) > int64(len(b)-4) {
		return nil, nil, fmt.Errorf("they claim %d bytes of %d: %w", n, len(b)-4, io.ErrUnexpectedEOF)
	}
	return b[4 : 4+n], b[4+n:], nil
}

func (l *leaf) loadV2(h *meta.PageHeader, body []byte) error {
	r, d := int(h.RepLength), int(h.DefLength)
	if r+d > len(body) {
		return fmt.Errorf("levels take %d bytes of a page of %d: %w", r+d, len(body), io.ErrUnexpectedEOF)
	}
	c := l.codec
	if !h.Compressed {
		c = format.Uncompressed
	}
	values, err := l.inflate(c, body[r+d:], int(h.UncompressedSize)-r-d)
	if err != nil {
		return err
	}
	return l.start(h, body[:r], body[r:r+d], values)
}

// start readies the page for reading.
func (l *leaf) start(h *meta.PageHeader, rep, def, values []byte) error {
	n := int(h.NumValues)
	l.levels = n
	if l.col.MaxDef > 0 {
		if err := l.def.Reset(def, level.Width(l.col.MaxDef)); err != nil {
			return err
		}
	}
	if l.nested {
		if err := l.decodeLevels(n, rep); err != nil {
			return err
		}
	}
	if n == 0 {
		l.vals = pageValues{}
		return nil
	}
	return l.openValues(h.Encoding, values, n)
}

// decodeLevels decodes all levels of a page of a nested column.
func (l *leaf) decodeLevels(n int, rep []byte) error {
	if n > maxNestedLevels {
		return fmt.Errorf("page of a nested column has %d values, over the limit of %d", n, maxNestedLevels)
	}
	l.at = 0
	l.pageDefs = l.defBuf.grow(n, 0)
	if l.col.MaxDef > 0 {
		if err := l.def.Bytes(l.pageDefs); err != nil {
			return fmt.Errorf("definition levels: %w", err)
		}
	} else {
		clear(l.pageDefs)
	}
	l.pageReps = l.repBuf.grow(n, 0)
	if l.col.MaxRep == 0 {
		clear(l.pageReps)
		return nil
	}
	var d level.Decoder
	if err := d.Reset(rep, level.Width(l.col.MaxRep)); err != nil {
		return err
	}
	if err := d.Bytes(l.pageReps); err != nil {
		return fmt.Errorf("repetition levels: %w", err)
	}
	if l.pages == 1 && n > 0 && l.pageReps[0] != 0 {
		return errors.New("the first value of the column chunk continues a row")
	}
	for i, d := range l.pageDefs {
		if int(d) > l.col.MaxDef || int(l.pageReps[i]) > l.col.MaxRep {
			return fmt.Errorf("value %d has definition level %d and repetition level %d, the column allows %d and %d", i, d, l.pageReps[i], l.col.MaxDef, l.col.MaxRep)
		}
	}
	return nil
}
