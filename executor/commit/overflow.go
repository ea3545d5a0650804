package commit

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/store"
)

// A partitioned result may have far more partitions than files can be open. The first keys of a generation get writers, which stay open
// until it ends. The rows of all other keys overflow: they are gathered, sorted by key into runs on disk when they exceed their share of
// memory, and merged when the generation is ready, so that each key has one file and one writer is open at a time, however many keys
// there are and however their rows are mixed.
type overflow struct {
	mem     memory.Allocator // of the lane that came first; usable from the committer
	limit   int64            // bytes of rows held in memory
	scratch func() (*dataset.ScratchFile, error)
	next    func() uint64 // numbers of parts

	mu     sync.Mutex
	bytes  int64 // of all rows that came
	number map[string]uint32
	keys   []overflowKey // by number, in order of first appearance
	held   []heldRows
	size   int64 // bytes of held
	levels [][]*sortedRun
	file   *dataset.ScratchFile
	disk   *store.Disk
}

// overflowKey is a partition whose rows overflowed. Its part has the number that it would have had if it had been opened then, so that
// parts sort in the order of the rows.
type overflowKey struct {
	key string
	seq uint64
}

// stretchOf is n rows of one key.
type stretchOf struct {
	key uint32
	n   int
}

// heldRows is rows in memory, ascending by key.
type heldRows struct {
	rec  arrow.RecordBatch
	keys []stretchOf
}

// Shares of the memory budget, and what they amount to at least and at most.
const (
	overflowShare = 16
	overflowMost  = 64 << 20
	overflowLeast = 256 << 10
	// mergedRuns is how many runs become one: a block of each is in memory at that time.
	mergedRuns = 64
	// overflowParts is how many times the size of a part may overflow before the generation ends, unless the run is exact.
	overflowParts = 16
)

func newOverflow(mem memory.Allocator, cfg *Config, next func() uint64) *overflow {
	limit := cfg.OverflowBytes
	if limit <= 0 {
		limit = overflowMost
		if b, ok := mem.(interface{ Budget() int64 }); ok {
			limit = min(max(b.Budget()/overflowShare, overflowLeast), overflowMost)
		}
	}
	return &overflow{mem: mem, limit: limit, scratch: cfg.Scratch, next: next, number: map[string]uint32{}}
}

// has tells whether rows of a key came already: the later ones follow them, so that their order is kept.
func (o *overflow) has(key string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.number[key]
	return ok
}

// total is the bytes of all rows that came.
func (o *overflow) total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// add takes the rows of groups of a block, which is borrowed.
func (o *overflow) add(mem memory.Allocator, rec arrow.RecordBatch, groups []*group) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	numbered := make([]stretchOf, len(groups))
	order := make([]int, len(groups))
	rows := 0
	for i, gr := range groups {
		n, ok := o.number[gr.key]
		if !ok {
			if len(o.keys) == math.MaxUint32 {
				return errors.New("partition rows: there are more than 4 billion partitions")
			}
			n = uint32(len(o.keys))
			o.number[gr.key] = n
			o.keys = append(o.keys, overflowKey{gr.key, o.next()})
		}
		numbered[i], order[i] = stretchOf{n, len(gr.rows)}, i
		rows += len(gr.rows)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(numbered[a].key, numbered[b].key) })
	indices := make([]uint32, 0, rows)
	keys := make([]stretchOf, 0, len(groups))
	for _, i := range order {
		indices = append(indices, groups[i].rows...)
		keys = append(keys, numbered[i])
	}
	taken, err := block.TakeRecord(mem, rec, indices)
	if err != nil {
		return err
	}
	n := recordBytes(taken) + int64(len(keys))*16
	o.held = append(o.held, heldRows{taken, keys})
	o.size += n
	o.bytes += n
	if o.size <= o.limit || o.scratch == nil {
		return nil
	}
	return o.spill()
}

func recordBytes(rec arrow.RecordBatch) int64 {
	n := int64(0)
	for _, c := range rec.Columns() {
		n += int64(c.Data().SizeInBytes())
	}
	return n
}

// spill sorts what is held into a run on disk, and makes one run of those that gathered on a level. The lock is held.
func (o *overflow) spill() error {
	if o.disk == nil {
		f, err := o.scratch()
		if err != nil {
			return err
		}
		o.file = f
		if o.disk, err = store.NewDisk(f, keyedSchema(o.held[0].rec.Schema()), memory.NewGoAllocator()); err != nil {
			return err
		}
	}
	run, err := o.write(o.heldCursors())
	if err != nil {
		return err
	}
	o.dropHeld()
	for level := 0; ; level++ {
		if level == len(o.levels) {
			o.levels = append(o.levels, nil)
		}
		o.levels[level] = append(o.levels[level], run)
		if len(o.levels[level]) < mergedRuns {
			return nil
		}
		if run, err = o.write(o.diskCursors(o.levels[level])); err != nil {
			return err
		}
		o.levels[level] = nil
	}
}

func (o *overflow) dropHeld() {
	for _, h := range o.held {
		h.rec.Release()
	}
	o.held, o.size = nil, 0
}

func (o *overflow) heldCursors() []cursor {
	out := make([]cursor, len(o.held))
	for i, h := range o.held {
		h.rec.Retain()
		out[i] = &heldCursor{rec: h.rec, keys: h.keys}
	}
	return out
}

// cursors are all rows, in the order in which they came.
func (o *overflow) cursors() []cursor {
	var out []cursor
	for _, runs := range slices.Backward(o.levels) {
		out = append(out, o.diskCursors(runs)...)
	}
	return append(out, o.heldCursors()...)
}

// release frees memory and disk. It may be called more than once.
func (o *overflow) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropHeld()
	o.levels, o.disk = nil, nil
	if o.file != nil {
		o.file.Close()
		o.file = nil
	}
}
