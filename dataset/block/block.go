package block

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Block is an immutable record batch with row identity. It is safe for concurrent reading; Retain and Release are atomic.
type Block struct {
	rec    arrow.RecordBatch
	id     Identity
	tokens []tokenCount
	one    [1]tokenCount // backs tokens in the common case of one token, so that a block is one allocation
	live   int64
	pinned int64
	refs   atomic.Int32
}

// New makes a block of rec with the given identity and takes over one reference to rec. An empty Identity (no rows) is allowed
// for blocks whose identity the engine assigns, such as those a barrier emits; otherwise id must have rec.NumRows() rows.
func New(rec arrow.RecordBatch, id Identity) *Block {
	if id.Len() != 0 && int64(id.Len()) != rec.NumRows() {
		panic(fmt.Sprintf("block: identity of %d rows for a record of %d rows", id.Len(), rec.NumRows())) //nolint // own-bug assertion
	}
	b := &Block{rec: rec, id: id}
	b.live, b.pinned = recordBytes(rec)
	b.refs.Store(1)
	b.count()
	trackNew(b)
	return b
}

// count enters the block's rows into the live count of their tokens.
func (b *Block) count() {
	b.tokens = b.id.countTokens(b.one[:0])
	for _, t := range b.tokens {
		t.token.live.Add(t.rows)
	}
}

// Schema returns the schema of the record.
func (b *Block) Schema() *arrow.Schema { return b.rec.Schema() }

// Record returns the Arrow record. It is borrowed: valid as long as the block is held.
func (b *Block) Record() arrow.RecordBatch { return b.rec }

// Column returns column i, borrowed.
func (b *Block) Column(i int) arrow.Array { return b.rec.Column(i) }

// ColumnByName returns the first column of that name, borrowed, or nil.
func (b *Block) ColumnByName(name string) arrow.Array {
	if ix := b.rec.Schema().FieldIndices(name); len(ix) > 0 {
		return b.rec.Column(ix[0])
	}
	return nil
}

// NumRows returns the number of rows.
func (b *Block) NumRows() int { return int(b.rec.NumRows()) }

// NumCols returns the number of columns.
func (b *Block) NumCols() int { return int(b.rec.NumCols()) }

// Bytes returns the bytes that the rows of this block occupy; for a slice, its own part of shared buffers.
func (b *Block) Bytes() int64 { return b.live }

// PinnedBytes returns the bytes of all buffers that this block keeps alive. It exceeds Bytes for slices.
func (b *Block) PinnedBytes() int64 { return b.pinned }

// Identity returns the identity of the rows.
func (b *Block) Identity() Identity { return b.id }

// Retain adds a holder and returns b.
func (b *Block) Retain() *Block {
	if b.refs.Add(1) < 2 {
		panic("block: Retain after the last Release") //nolint // own-bug assertion
	}
	return b
}

// Release ends one holder's claim. After the last one the memory goes back to its allocator and the rows leave their tokens.
func (b *Block) Release() {
	switch n := b.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("block: Release after the last Release") //nolint // own-bug assertion
	}
	trackFree(b)
	b.rec.Release()
	for _, t := range b.tokens {
		t.token.discharge(t.rows)
	}
}

// Refs returns the number of holders, for tests and leak reports.
func (b *Block) Refs() int { return int(b.refs.Load()) }

// Replace makes a block of other columns for the same rows: it has b's identity and takes over one reference to rec.
func (b *Block) Replace(rec arrow.RecordBatch) *Block { return New(rec, b.id) }

// Slice makes a block of rows [off, off+n) that shares b's buffers.
func (b *Block) Slice(off, n int) *Block {
	return New(b.rec.NewSlice(int64(off), int64(off+n)), b.id.Slice(off, n))
}

// Select makes the block that holds b's rows at the given ascending indices, with the columns of rec, which were already taken; it
// takes over one reference to rec and keeps indices.
func (b *Block) Select(rec arrow.RecordBatch, indices []uint32) *Block {
	return New(rec, b.id.Take(indices))
}

// FlatMap makes the block of rows derived from b: row i of rec is a child of row parents[i] of b. Parents must ascend, so that the
// child ordinal of a row is its position among the rows of its parent. It takes over one reference to rec and keeps parents.
func (b *Block) FlatMap(rec arrow.RecordBatch, parents []uint32) *Block {
	return New(rec, b.id.FlatMap(parents))
}

// WithIdentity makes a block of the same record with another identity; b is borrowed and the record shared.
func (b *Block) WithIdentity(id Identity) *Block {
	b.rec.Retain()
	return New(b.rec, id)
}

// FromColumns builds a record from columns, which it retains, and returns it. It panics if lengths differ, as Arrow does.
func FromColumns(schema *arrow.Schema, cols []arrow.Array, rows int) arrow.RecordBatch {
	return array.NewRecordBatch(schema, cols, int64(rows))
}
