package isolate

import (
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/dataset/block"
)

// recentRows is how many rows before the one that a child died of are named in the log: what goes wrong now may have begun there.
const recentRows = 8

// ring are the last rows of the blocks before.
type ring struct{ names []string }

// add takes the last rows of a block that was worked on.
func (r *ring) add(b *block.Block) {
	for i := max(0, b.NumRows()-recentRows); i < b.NumRows(); i++ {
		r.names = append(r.names, place(b, i))
	}
	r.names = append([]string(nil), r.names[max(0, len(r.names)-recentRows):]...)
}

// before names the rows before one of a block, oldest first.
func (r *ring) before(b *block.Block, row int) string {
	names := append([]string(nil), r.names...)
	for i := max(0, row-recentRows); i < row; i++ {
		names = append(names, place(b, i))
	}
	return strings.Join(names[max(0, len(names)-recentRows):], ", ")
}

// place names a row by its file and position.
func place(b *block.Block, row int) string {
	if b.Identity().Len() <= row {
		return fmt.Sprint(row)
	}
	file, at, _ := b.Identity().Origin(row)
	switch {
	case file == nil:
		return fmt.Sprint(row)
	case at == 0:
		return file.Path
	}
	return fmt.Sprintf("%s at %d", file.Path, at)
}
