package csv

import (
	"encoding/base64"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/internal/columns"
)

type textColumn[O columns.Offset] struct{ columns.Binary[O] }

func newText[O columns.Offset](mem memory.Allocator, dt arrow.DataType) *textColumn[O] {
	return &textColumn[O]{columns.NewBinary[O](mem, dt)}
}

func (c *textColumn[O]) parse(p *parser, i int) int {
	text, quoted, end := p.field(i)
	if end < 0 {
		return end
	}
	if !quoted && (len(text) == 0 || p.nulls != nil && p.isNull(text)) {
		c.Null()
		return end
	}
	text, bad := p.text(text, i, c.DT)
	if bad < 0 {
		return bad
	}
	c.Push(text)
	return end
}

// base64Column holds binary values, written as base64 with or without padding.
type base64Column[O columns.Offset] struct{ columns.Binary[O] }

func (c *base64Column[O]) parse(p *parser, i int) int {
	text, quoted, end := p.field(i)
	if end < 0 {
		return end
	}
	if !quoted && (len(text) == 0 || p.isNull(text)) {
		c.Null()
		return end
	}
	if text, bad := p.text(text, i, c.DT); bad < 0 {
		return bad
	} else if len(text) > 0 {
		text = trimPadding(text)
		dst := c.Data.Room(base64.RawStdEncoding.DecodedLen(len(text)))
		n, err := base64.RawStdEncoding.Decode(dst, text)
		if err != nil {
			return p.refuse(i, c.DT, "is not base64")
		}
		c.Data.N += n
	}
	c.End()
	return end
}

func trimPadding(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == '=' {
		b = b[:len(b)-1]
	}
	return b
}
