package commit

import (
	"container/heap"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/store"
)

// sortedRun is rows on disk, ascending by key.
type sortedRun struct{ blocks []store.Stored }

// keyedSchema is the schema of rows on disk: the number of each row's key comes first.
func keyedSchema(s *arrow.Schema) *arrow.Schema {
	return arrow.NewSchema(append([]arrow.Field{{Name: "key number", Type: arrow.PrimitiveTypes.Uint32}}, s.Fields()...), nil)
}

// cursor walks rows that ascend by key.
type cursor interface {
	// head is the stretch of rows of one key that comes next, in a record that is borrowed; ok is false at the end.
	head() (key uint32, rec arrow.RecordBatch, from, n int, ok bool)
	// pass goes n rows on, within the stretch.
	pass(n int) error
	close()
}

// heldCursor walks rows in memory.
type heldCursor struct {
	rec  arrow.RecordBatch
	keys []stretchOf // left
	at   int
	used int // of the first stretch
}

func (c *heldCursor) head() (key uint32, rec arrow.RecordBatch, from, n int, ok bool) {
	if len(c.keys) == 0 {
		return 0, nil, 0, 0, false
	}
	return c.keys[0].key, c.rec, c.at, c.keys[0].n - c.used, true
}

func (c *heldCursor) pass(n int) error {
	c.at += n
	if c.used += n; c.used == c.keys[0].n {
		c.keys, c.used = c.keys[1:], 0
	}
	return nil
}

func (c *heldCursor) close() {
	if c.rec != nil {
		c.rec.Release()
		c.rec = nil
	}
}

// diskCursor walks a run on disk, one block of which is in memory.
type diskCursor struct {
	mem    memory.Allocator
	schema *arrow.Schema
	blocks []store.Stored // not loaded yet
	keyed  arrow.RecordBatch
	rec    arrow.RecordBatch // keyed without the numbers
	keys   []uint32
	at     int
}

func (o *overflow) diskCursors(runs []*sortedRun) []cursor {
	out := make([]cursor, len(runs))
	for i, r := range runs {
		out[i] = &diskCursor{mem: o.mem, blocks: r.blocks}
	}
	return out
}

func (c *diskCursor) load() error {
	c.close()
	if len(c.blocks) == 0 {
		return nil
	}
	rec, err := c.blocks[0].Load(c.mem)
	if err != nil {
		return err
	}
	c.blocks = c.blocks[1:]
	if c.schema == nil {
		c.schema = arrow.NewSchema(rec.Schema().Fields()[1:], nil)
	}
	c.keyed, c.keys, c.at = rec, rec.Column(0).(*array.Uint32).Uint32Values(), 0
	c.rec = block.FromColumns(c.schema, rec.Columns()[1:], int(rec.NumRows()))
	return nil
}

func (c *diskCursor) head() (key uint32, rec arrow.RecordBatch, from, n int, ok bool) {
	if c.rec == nil {
		return 0, nil, 0, 0, false
	}
	key = c.keys[c.at]
	for n = 1; c.at+n < len(c.keys) && c.keys[c.at+n] == key; n++ {
	}
	return key, c.rec, c.at, n, true
}

func (c *diskCursor) pass(n int) error {
	if c.at += n; c.at == len(c.keys) {
		return c.load()
	}
	return nil
}

func (c *diskCursor) close() {
	if c.rec != nil {
		c.rec.Release()
		c.keyed.Release()
		c.rec, c.keyed, c.keys = nil, nil, nil
	}
}

// merger merges cursors; of one key, rows of an earlier cursor come first.
type merger struct {
	heap  []heapItem
	bytes int64 // of a chunk

	recs   []arrow.RecordBatch // rows that wait come from, each once
	index  map[arrow.RecordBatch]uint32
	from   []uint32
	rows   []uint32
	keys   []stretchOf
	queued float64
}

type heapItem struct {
	key   uint32
	order int
	cursor
}

func (m *merger) Len() int { return len(m.heap) }
func (m *merger) Less(i, j int) bool {
	a, b := &m.heap[i], &m.heap[j]
	return a.key < b.key || a.key == b.key && a.order < b.order
}
func (m *merger) Swap(i, j int) { m.heap[i], m.heap[j] = m.heap[j], m.heap[i] }
func (m *merger) Push(x any)    { m.heap = append(m.heap, x.(heapItem)) }
func (m *merger) Pop() any {
	x := m.heap[len(m.heap)-1]
	m.heap = m.heap[:len(m.heap)-1]
	return x
}

// chunkRows bounds a chunk of merged rows, for the vectors of row numbers.
const chunkRows = 64 << 10

// merge hands the rows of cursors, which it closes, to each in chunks that ascend by key; a chunk is released when each returns.
func merge(mem memory.Allocator, cursors []cursor, chunkBytes int64, each func(rec arrow.RecordBatch, keys []stretchOf) error) (err error) {
	m := &merger{bytes: chunkBytes, index: map[arrow.RecordBatch]uint32{}}
	defer func() {
		for _, c := range cursors {
			c.close()
		}
		m.clear()
	}()
	for i, c := range cursors {
		if d, ok := c.(*diskCursor); ok {
			if err := d.load(); err != nil {
				return err
			}
		}
		if key, _, _, _, ok := c.head(); ok {
			m.heap = append(m.heap, heapItem{key, i, c})
		}
	}
	heap.Init(m)
	for len(m.heap) > 0 {
		top := &m.heap[0]
		key, rec, at, n, _ := top.head()
		n = m.take(key, rec, at, n)
		if err := top.pass(n); err != nil {
			return err
		}
		if next, _, _, _, ok := top.head(); ok {
			top.key = next
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
		if len(m.rows) == chunkRows || m.queued >= float64(m.bytes) {
			if err := m.flush(mem, each); err != nil {
				return err
			}
		}
	}
	return m.flush(mem, each)
}

// take notes up to n rows of a record and returns how many.
func (m *merger) take(key uint32, rec arrow.RecordBatch, at, n int) int {
	i, ok := m.index[rec]
	if !ok {
		i = uint32(len(m.recs))
		m.index[rec] = i
		rec.Retain()
		m.recs = append(m.recs, rec)
	}
	each := float64(recordBytes(rec))/float64(rec.NumRows()) + 1
	n = min(n, chunkRows-len(m.rows), max(1, int((float64(m.bytes)-m.queued)/each)))
	for k := range n {
		m.from = append(m.from, i)
		m.rows = append(m.rows, uint32(at+k))
	}
	if k := len(m.keys); k > 0 && m.keys[k-1].key == key {
		m.keys[k-1].n += n
	} else {
		m.keys = append(m.keys, stretchOf{key, n})
	}
	m.queued += each * float64(n)
	return n
}

func (m *merger) flush(mem memory.Allocator, each func(arrow.RecordBatch, []stretchOf) error) error {
	if len(m.rows) == 0 {
		return nil
	}
	rec, err := block.Interleave(mem, m.recs, m.from, m.rows)
	if err != nil {
		return fmt.Errorf("merge overflowed rows: %w", err)
	}
	defer rec.Release()
	keys := m.keys
	m.clear()
	return each(rec, keys)
}

func (m *merger) clear() {
	for _, r := range m.recs {
		r.Release()
	}
	clear(m.index)
	m.recs, m.from, m.rows, m.keys, m.queued = m.recs[:0], nil, nil, nil, 0
}

// chunkBytes is the size of a block on disk: one of each run that is merged takes no more than rows held do.
func (o *overflow) chunkBytes() int64 { return max(o.limit/mergedRuns, 64<<10) }

// write writes the rows of cursors as one run.
func (o *overflow) write(cursors []cursor) (*sortedRun, error) {
	run := &sortedRun{}
	var schema *arrow.Schema
	err := merge(o.mem, cursors, o.chunkBytes(), func(rec arrow.RecordBatch, keys []stretchOf) error {
		if schema == nil {
			schema = keyedSchema(rec.Schema())
		}
		numbers := numberColumn(o.mem, keys, int(rec.NumRows()))
		defer numbers.Release()
		keyed := block.FromColumns(schema, append([]arrow.Array{numbers}, rec.Columns()...), int(rec.NumRows()))
		defer keyed.Release()
		stored, err := o.disk.Put(keyed)
		if err == nil {
			run.blocks = append(run.blocks, stored)
		}
		return err
	})
	return run, err
}

func numberColumn(mem memory.Allocator, keys []stretchOf, rows int) arrow.Array {
	b := array.NewUint32Builder(mem)
	defer b.Release()
	b.Reserve(rows)
	for _, k := range keys {
		for range k.n {
			b.UnsafeAppend(k.key)
		}
	}
	return b.NewArray()
}
