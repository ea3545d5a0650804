package lint

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"

	"github.com/apache/arrow-go/v18/arrow"
)

func init() {
	register(Rule{"blocks-tiny", "rows are cut into blocks of very few rows", blocksTiny})
}

// tinyRows is a block whose handling costs more than its rows, unless they are pictures or the like.
const tinyRows = 256

// blocksTiny finds steps that make blocks of few small rows.
func blocksTiny(_ context.Context, j *Job) (out []Finding, err error) {
	for i := range j.Steps {
		s := &j.Steps[i]
		r, ok := s.Node.Spec.(dataset.Resizer)
		if !ok || !r.ResizesBlocks() || heavyRows(s.Out) {
			continue
		}
		var params struct {
			Rows int64 `json:"rows"`
		}
		raw, err := json.Marshal(s.Node.Spec.Params())
		if err != nil || json.Unmarshal(raw, &params) != nil || params.Rows == 0 || params.Rows >= tinyRows {
			continue
		}
		out = append(out, Finding{Pos: s.Pos,
			Message: fmt.Sprintf("%s makes blocks of %d small rows: every step behind it spends more on the block than on the rows", firstWord(s.Text), params.Rows),
			Remedy:  fmt.Sprintf("leave it out, as blocks are sized by bytes, or write a number such as %d; batches of a model stage are set there", 10_000)})
	}
	return out, nil
}

// heavyRows says whether a row may hold much: bytes, pictures, tensors.
func heavyRows(s *arrow.Schema) bool {
	for _, f := range s.Fields() {
		t := f.Type
		if ext, ok := t.(arrow.ExtensionType); ok {
			if arrow.TypeEqual(t, block.Image) || arrow.TypeEqual(t, block.Pixels) {
				return true
			}
			t = ext.StorageType()
		}
		switch t.ID() {
		case arrow.BINARY, arrow.LARGE_BINARY, arrow.FIXED_SIZE_BINARY, arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST:
			return true
		}
	}
	return false
}
