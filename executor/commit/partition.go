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
	key    string
	values map[string]string
	rows   []uint32
}

// writePartitioned divides a block by the values of the partition columns, in order of first appearance.
func (m *Manager) writePartitioned(ctx context.Context, rt dataset.Runtime, lane int, g *generation, b *block.Block) error {
	first := m.rows.Add(uint64(b.NumRows())) - uint64(b.NumRows())
	for _, gr := range m.groups(b) {
		part, err := m.openPart(ctx, rt, g, partKey{lane, gr.key}, gr.values)
		if err != nil {
			return err
		}
		part.last = first + uint64(gr.rows[len(gr.rows)-1])
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
	return nil
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
			last = &group{key: string(key), values: map[string]string{}}
			for _, c := range m.by {
				last.values[m.cfg.Schema.Field(c).Name] = partitionValue(b.Column(c), i)
			}
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
