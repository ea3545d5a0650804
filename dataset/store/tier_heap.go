package store

import (
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// Heap is the Tier that keeps records where they are, up to Limit bytes.
type Heap struct {
	Limit int64
	used  atomic.Int64
}

var _ Tier = (*Heap)(nil)

// Put implements Tier. The record is retained, not copied.
func (h *Heap) Put(rec arrow.RecordBatch) (Stored, error) {
	n := int64(0)
	for _, c := range rec.Columns() {
		n += block.ArrayBytes(c)
	}
	if h.used.Add(n) > h.Limit {
		used := h.used.Add(-n)
		return nil, fmt.Errorf("keep record of %d bytes: %w: %d of the limit of %d bytes are used", n, ErrFull, used, h.Limit)
	}
	rec.Retain()
	return &heapRecord{heap: h, rec: rec, bytes: n}, nil
}

type heapRecord struct {
	heap  *Heap
	rec   arrow.RecordBatch
	bytes int64
}

func (r *heapRecord) Bytes() int64 { return r.bytes }

func (r *heapRecord) Load(memory.Allocator) (arrow.RecordBatch, error) {
	r.rec.Retain()
	return r.rec, nil
}

func (r *heapRecord) Release() {
	r.rec.Release()
	r.heap.used.Add(-r.bytes)
}
