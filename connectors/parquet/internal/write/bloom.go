package write

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

const (
	// bloomBits a distinct value let one question in a hundred about a value that is not there through.
	bloomBits = 10
	// maxBloom bounds a filter; one of more values says yes more often.
	maxBloom = 16 << 20
)

// WantBloom makes the leaf keep what its Bloom filters need: eight bytes a value of the row group, a distinct one while a dictionary is used.
func (l *Leaf) WantBloom() error {
	if l.col.Physical == format.Boolean {
		return fmt.Errorf("column %q holds booleans, for which there are no Bloom filters", l.col.Path)
	}
	l.bloom = true
	return nil
}

// hashValues notes plain values, as they lie in a page or a dictionary.
func (l *Leaf) hashValues(b []byte) {
	if !l.bloom {
		return
	}
	put := func(v []byte) { binary.LittleEndian.PutUint64(l.hashes.extend(8), xxhash.Sum64(v)) }
	if l.width > 0 {
		for ; len(b) >= l.width; b = b[l.width:] {
			put(b[:l.width])
		}
		return
	}
	for len(b) >= 4 {
		n := 4 + int(binary.LittleEndian.Uint32(b))
		put(b[4:n])
		b = b[n:]
	}
}

// takeBloom returns the filter of the row group behind its header; nil if none is wanted or there are no values.
func (l *Leaf) takeBloom() ([]byte, error) {
	hashes := view[uint64](l.hashes.bytes())
	if !l.bloom || len(hashes) == 0 {
		return nil, nil
	}
	slices.Sort(hashes)
	hashes = slices.Compact(hashes)
	n := min(bloom.NumSplitBlocksOf(int64(len(hashes)), bloomBits), maxBloom/bloom.BlockSize)
	f := make(bloom.SplitBlockFilter, n)
	f.InsertBulk(hashes)
	return meta.AppendBloom(nil, f)
}
