package relational

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/relational/internal/sortkey"
)

// run is a sorted sequence of rows, in memory or in a file. It is read by many cursors at once.
type run interface {
	// samples calls f with keys at regular distances and the number of rows that each stands for. Keys may be cut short.
	samples(f func(key []byte, rows int64))
	// cursor reads the rows whose keys are in [lo, hi); nil is no bound. What it reads from a file goes into memory of mem.
	cursor(mem memory.Allocator, lo, hi []byte) cursor
	// readBytes is the memory that a cursor holds.
	readBytes() int64
	rows() int64
	bytes() int64
	close() error
}

// entry is one row of a run under way: the first sixteen bytes of its key and where it is.
type entry struct {
	hi, lo uint64
	block  uint32
	row    uint32
}

// entryBytes is the memory of an entry.
const entryBytes = 24

// memoryRun gathers rows in memory and sorts them.
type memoryRun struct {
	recs    []arrow.RecordBatch
	sizes   []*rowSizes
	keys    []*sortkey.Keys
	entries []entry
	live    int64 // bytes of the rows
}

var _ run = (*memoryRun)(nil)

// add takes over a record.
func (m *memoryRun) add(l *layout, rec arrow.RecordBatch) {
	k := &sortkey.Keys{}
	l.keys.Encode(rec, k)
	b := uint32(len(m.recs))
	m.entries = slices.Grow(m.entries, int(rec.NumRows()))
	for i := range int(rec.NumRows()) {
		hi, lo := sortkey.Prefix(k.At(i))
		m.entries = append(m.entries, entry{hi, lo, b, uint32(i)})
	}
	m.recs, m.keys, m.sizes = append(m.recs, rec), append(m.keys, k), append(m.sizes, newRowSizes(rec))
	for _, c := range rec.Columns() {
		m.live += block.ArrayBytes(c)
	}
}

func (m *memoryRun) key(e entry) []byte { return m.keys[e.block].At(int(e.row)) }

func (m *memoryRun) sort() {
	slices.SortFunc(m.entries, func(a, b entry) int {
		if a.hi != b.hi {
			return cmp.Compare(a.hi, b.hi)
		}
		if a.lo != b.lo {
			return cmp.Compare(a.lo, b.lo)
		}
		if c := bytes.Compare(m.key(a), m.key(b)); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.row, b.row))
	})
}

func (m *memoryRun) rows() int64      { return int64(len(m.entries)) }
func (m *memoryRun) bytes() int64     { return m.live }
func (m *memoryRun) readBytes() int64 { return 0 }

func (m *memoryRun) samples(f func(key []byte, rows int64)) {
	const most = 256
	n := len(m.entries)
	step := max(1, n/most)
	for i := 0; i < n; i += step {
		f(clip(m.key(m.entries[i])), int64(min(step, n-i)))
	}
}

// search returns the first entry whose key is not below the bound.
func (m *memoryRun) search(bound []byte) int {
	return sort.Search(len(m.entries), func(i int) bool { return bytes.Compare(m.key(m.entries[i]), bound) >= 0 })
}

func (m *memoryRun) cursor(_ memory.Allocator, lo, hi []byte) cursor {
	c := &memoryCursor{run: m, end: len(m.entries)}
	if lo != nil {
		c.at = m.search(lo)
	}
	if hi != nil {
		c.end = m.search(hi)
	}
	return c
}

// close releases the rows.
func (m *memoryRun) close() error {
	for _, r := range m.recs {
		r.Release()
	}
	*m = memoryRun{}
	return nil
}

// sampleBytes is how much of a key is kept to plan by.
const sampleBytes = 256

func clip(key []byte) []byte { return slices.Clone(key[:min(len(key), sampleBytes)]) }

// memoryCursor reads a stretch of a memoryRun.
type memoryCursor struct {
	run     *memoryRun
	at, end int
}

func (c *memoryCursor) next() (bool, error) {
	c.at++
	return c.at < c.end, nil
}

func (c *memoryCursor) start() (bool, error) { return c.at < c.end, nil }

func (c *memoryCursor) key() []byte { return c.run.key(c.run.entries[c.at]) }

func (c *memoryCursor) row() (arrow.RecordBatch, uint32, int64) {
	e := c.run.entries[c.at]
	return c.run.recs[e.block], e.row, c.run.sizes[e.block].at(int(e.row))
}

func (*memoryCursor) close() {}
