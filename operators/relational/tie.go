package relational

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// ties makes the tie column of a block: the identity of each row as bytes in the order of the source, so that equal rows come out in that
// order however the work was divided. Rows without identity are numbered from next on.
func ties(mem memory.Allocator, b *block.Block, next uint64) arrow.Array {
	n := b.NumRows()
	bld := array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary)
	defer bld.Release()
	bld.Reserve(n)
	id := b.Identity()
	var p []byte
	var file *block.File
	head := 0
	for i := range n {
		if id.Len() == 0 {
			p = putNumber(p[:0], next+uint64(i))
			bld.Append(p)
			continue
		}
		r := id.At(i)
		if r.File != file || i == 0 {
			file = r.File
			p = p[:0]
			if file != nil {
				p = putNumber(putNumber(p, uint64(file.Source)), file.Ordinal)
			}
			head = len(p)
		}
		p = putNumber(p[:head], r.Position)
		for _, c := range r.Child {
			p = putNumber(p, uint64(c))
		}
		bld.Append(p)
	}
	return bld.NewArray()
}

// putNumber appends v in as few bytes as it needs, after their count, which keeps the order of numbers.
func putNumber(dst []byte, v uint64) []byte {
	var p [8]byte
	binary.BigEndian.PutUint64(p[:], v)
	n := 8
	for n > 0 && p[8-n] == 0 {
		n--
	}
	return append(append(dst, byte(n)), p[8-n:]...)
}
