package executor

import (
	"bytes"
	"encoding/json"

	"github.com/sluice-data/sluice/dataset/block"
)

// mostRowJSON bounds the input that is kept with a dead letter; a larger row is found by its place.
const mostRowJSON = 64 << 10

// rowJSON is a row as JSON, or nil if it has no columns, is too large, or has a value that JSON cannot hold.
func rowJSON(b *block.Block, row int) (out json.RawMessage) {
	if b.NumCols() == 0 {
		return nil
	}
	one := b.Slice(row, 1)
	defer one.Release()
	if one.Bytes() > mostRowJSON {
		return nil
	}
	defer func() {
		if recover() != nil { // a value that its type does not expect: the place of the row must do
			out = nil
		}
	}()
	var buf bytes.Buffer
	for i, f := range one.Schema().Fields() {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		buf.WriteByte(sep)
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil
		}
		value, err := json.Marshal(one.Column(i).GetOneForMarshal(0))
		if err != nil || buf.Len()+len(name)+len(value)+2 > mostRowJSON {
			return nil
		}
		buf.Write(name)
		buf.WriteByte(':')
		buf.Write(value)
	}
	buf.WriteByte('}')
	return buf.Bytes()
}
