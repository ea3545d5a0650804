package commit

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

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
		rows, err := takeRows(ctx, rt.Allocator(), b, gr.rows)
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

// takeRows returns the block of the given ascending rows. Rows that follow each other are a slice.
func takeRows(ctx context.Context, mem memory.Allocator, b *block.Block, rows []uint32) (*block.Block, error) {
	first, n := int(rows[0]), len(rows)
	if int(rows[n-1])-first == n-1 {
		return b.Slice(first, n), nil
	}
	ib := array.NewUint32Builder(mem)
	defer ib.Release()
	ib.AppendValues(rows, nil)
	idx := ib.NewArray()
	defer idx.Release()
	cols := make([]arrow.Array, 0, b.NumCols())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	ctx = compute.WithAllocator(ctx, mem)
	for i := range b.NumCols() {
		c, err := takeColumn(ctx, b.Column(i), idx)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", b.Schema().Field(i).Name, err)
		}
		cols = append(cols, c)
	}
	return b.Select(block.FromColumns(b.Schema(), cols, n), rows), nil
}

// takeColumn takes rows of a column; of an extension type, those of its storage.
func takeColumn(ctx context.Context, c, idx arrow.Array) (arrow.Array, error) {
	ext, ok := c.(array.ExtensionArray)
	if !ok {
		return compute.TakeArray(ctx, c, idx)
	}
	storage, err := compute.TakeArray(ctx, ext.Storage(), idx)
	if err != nil {
		return nil, err
	}
	defer storage.Release()
	return array.NewExtensionArrayWithStorage(ext.DataType().(arrow.ExtensionType), storage), nil
}
