package relational

import (
	"bytes"
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/relational/internal/sortkey"
)

// cursor walks through the rows of a run in order. start comes first; key and row are valid while start or next said true.
type cursor interface {
	start() (bool, error)
	next() (bool, error)
	key() []byte
	// row returns the record and the place of the row in it, and its size. The record is borrowed until next; who picks the row retains it.
	row() (arrow.RecordBatch, uint32, int64)
	close()
}

// merger merges cursors through a tree of losers: each node holds the cursor that lost there, so that a step costs one comparison a
// level.
type merger struct {
	cursors []cursor
	hi, lo  []uint64 // prefixes of the present keys
	done    []bool
	tree    []int // tree[0] is the winner
}

// newMerger takes over the cursors; closing it closes them.
func newMerger(cursors []cursor) (*merger, error) {
	n := len(cursors)
	m := &merger{cursors, make([]uint64, n), make([]uint64, n), make([]bool, n), make([]int, max(1, n))}
	for i, c := range cursors {
		ok, err := c.start()
		if err != nil {
			return m, err
		}
		m.load(i, ok)
	}
	for i := range m.tree {
		m.tree[i] = -1
	}
	for i := range n {
		m.play(i)
	}
	return m, nil
}

func (m *merger) load(i int, ok bool) {
	m.done[i] = !ok
	if ok {
		m.hi[i], m.lo[i] = sortkey.Prefix(m.cursors[i].key())
	}
}

// play lets cursor i rise from its leaf until it meets a place that nobody holds yet, or to the top.
func (m *merger) play(i int) {
	n := len(m.cursors)
	for node := (i + n) / 2; node > 0; node /= 2 {
		if m.tree[node] < 0 { // the other side has not arrived
			m.tree[node] = i
			return
		}
		if m.less(m.tree[node], i) {
			m.tree[node], i = i, m.tree[node]
		}
	}
	m.tree[0] = i
}

func (m *merger) less(a, b int) bool {
	switch {
	case m.done[a]:
		return false
	case m.done[b]:
		return true
	case m.hi[a] != m.hi[b]:
		return m.hi[a] < m.hi[b]
	case m.lo[a] != m.lo[b]:
		return m.lo[a] < m.lo[b]
	}
	c := bytes.Compare(m.cursors[a].key(), m.cursors[b].key())
	return c < 0 || c == 0 && a < b
}

// top returns the cursor of the least row, or nil at the end.
func (m *merger) top() cursor {
	if len(m.cursors) == 0 || m.done[m.tree[0]] {
		return nil
	}
	return m.cursors[m.tree[0]]
}

// advance moves the top cursor on.
func (m *merger) advance() error {
	i := m.tree[0]
	ok, err := m.cursors[i].next()
	if err != nil {
		return err
	}
	m.load(i, ok)
	m.play(i)
	return nil
}

func (m *merger) close() {
	for _, c := range m.cursors {
		c.close()
	}
}

// batch gathers picked rows of several records.
type batch struct {
	recs  []arrow.RecordBatch
	known map[arrow.RecordBatch]uint32
	from  []uint32
	rows  []uint32
	bytes int64
	last  arrow.RecordBatch
	index uint32
}

func (b *batch) add(rec arrow.RecordBatch, row uint32, size int64) {
	if rec != b.last || len(b.recs) == 0 {
		i, ok := b.known[rec]
		if !ok {
			rec.Retain()
			i = uint32(len(b.recs))
			if b.known == nil {
				b.known = map[arrow.RecordBatch]uint32{}
			}
			b.recs, b.known[rec] = append(b.recs, rec), i
		}
		b.last, b.index = rec, i
	}
	b.from, b.rows = append(b.from, b.index), append(b.rows, row)
	b.bytes += size
}

// seal makes a record of the picked rows and forgets them.
func (b *batch) seal(mem memory.Allocator) (arrow.RecordBatch, error) {
	defer b.clear()
	return block.Interleave(mem, b.recs, b.from, b.rows)
}

func (b *batch) clear() {
	for _, r := range b.recs {
		r.Release()
	}
	clear(b.known)
	*b = batch{recs: b.recs[:0], known: b.known, from: b.from[:0], rows: b.rows[:0]}
}

// drain hands on all rows that are left as records of at most so many rows and, but for single rows, bytes.
func (m *merger) drain(ctx context.Context, mem memory.Allocator, rows int, size int64, put func(arrow.RecordBatch) error) error {
	var b batch
	defer b.clear()
	flush := func() error {
		rec, err := b.seal(mem)
		if err != nil {
			return err
		}
		return put(rec)
	}
	for c := m.top(); c != nil; c = m.top() {
		rec, row, n := c.row()
		if len(b.rows) > 0 && (len(b.rows) >= rows || b.bytes+n > size) {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if err := flush(); err != nil {
				return err
			}
		}
		b.add(rec, row, n)
		if err := m.advance(); err != nil {
			return err
		}
	}
	if len(b.rows) > 0 {
		return flush()
	}
	return nil
}
