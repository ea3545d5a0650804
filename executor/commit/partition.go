package commit

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// nullPartition is the folder value of null, as Hive writes it.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// group is the rows of a block that have the same partition values.
type group struct {
	key  string
	rows []uint32
}

// writePartitioned divides a block by the values of the partition columns, in order of first appearance. Rows of keys that get no writer
// overflow.
func (m *Manager) writePartitioned(ctx context.Context, rt dataset.Runtime, lane int, g *generation, b *block.Block) error {
	var over []*group
	for _, gr := range m.groups(b) {
		part, err := m.openPartition(ctx, rt, g, partKey{lane, gr.key})
		if err != nil {
			return err
		}
		if part == nil {
			over = append(over, gr)
			continue
		}
		rows, err := block.Take(rt.Allocator(), b, gr.rows)
		if err != nil {
			return fmt.Errorf("partition rows: %w", err)
		}
		err = part.w.Write(ctx, rows)
		rows.Release()
		if err != nil {
			return err
		}
	}
	if len(over) == 0 {
		return nil
	}
	if err := m.overflowOf(g, rt).add(rt.Allocator(), b.Record(), over); err != nil {
		return fmt.Errorf("partition rows: %w", err)
	}
	return nil
}

// openPartition returns the open part of a key, opening it if need be; nil if the rows overflow: enough are open, or rows of the key
// overflowed before. An exact run counts the parts of the generation alone, which depend on nothing but the rows.
func (m *Manager) openPartition(ctx context.Context, rt dataset.Runtime, g *generation, key partKey) (*openPart, error) {
	m.mu.Lock()
	part, o := g.parts[key], g.over
	open := len(g.parts)
	most := m.cfg.OpenParts
	if !m.exact {
		open, most = 0, max(1, m.cfg.OpenParts/m.cfg.Lanes)
		for _, p := range m.mu.lanes[key.lane] {
			if !p.gen.queued { // else the committer's
				open++
			}
		}
	}
	m.mu.Unlock()
	if part != nil {
		return part, nil
	}
	if open >= most || o != nil && o.has(key.partition) {
		return nil, nil
	}
	values, err := m.valuesOf(key.partition)
	if err != nil {
		return nil, err
	}
	return m.newPart(ctx, rt, g, key, values)
}

// overflowOf returns where the rows of a generation overflow to.
func (m *Manager) overflowOf(g *generation, rt dataset.Runtime) *overflow {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g.over == nil {
		g.over = newOverflow(rt.Allocator(), &m.cfg, func() uint64 { return m.seq.Add(1) - 1 })
	}
	return g.over
}

// overfull tells whether so much overflowed that the generation should end. The lock is held.
func (m *Manager) overfull(g *generation) bool {
	return g.over != nil && g.over.total() >= overflowParts*m.cfg.Options.PartBytes
}

func (m *Manager) groups(b *block.Block) []*group {
	var all []*group
	byKey := map[string]*group{}
	var key []byte
	var last *group
	for i := range b.NumRows() {
		key = key[:0]
		for _, c := range m.by {
			v := partitionValue(b.Column(c), i)
			key = append(binary.AppendUvarint(key, uint64(len(v))), v...)
		}
		if last == nil || last.key != string(key) {
			last = byKey[string(key)]
		}
		if last == nil {
			last = &group{key: string(key)}
			byKey[last.key] = last
			all = append(all, last)
		}
		last.rows = append(last.rows, uint32(i))
	}
	return all
}

func partitionValue(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return nullPartition
	}
	if d, ok := a.(*array.Dictionary); ok {
		return partitionValue(d.Dictionary(), d.GetValueIndex(i))
	}
	return a.ValueStr(i)
}
