package arrowipc

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset/block"
)

// dictionary is the values of one dictionary so far: its deltas are put together when it is next used.
type dictionary struct{ parts []arrow.Array }

func (d *dictionary) release() {
	for _, p := range d.parts {
		p.Release()
	}
	d.parts = nil
}

// learn takes in a dictionary message. Dictionaries of columns that are not wanted are passed over.
func (d *decoder) learn(m *message, get fetch) error {
	t, ok := d.types[m.id]
	if !ok {
		return nil
	}
	w := &walk{decoder: d, batch: &m.batch, left: d.limit}
	read := int64(0)
	values, err := w.column(fileColumn{dt: t.dt, field: t.field}, m, get, &read)
	if err != nil {
		return fmt.Errorf("dictionary %d: %w", m.id, err)
	}
	have := d.dicts[m.id]
	if have == nil {
		have = &dictionary{}
		d.dicts[m.id] = have
	}
	if !m.delta {
		have.release()
	}
	have.parts = append(have.parts, values)
	return nil
}

// values returns the values of a dictionary, borrowed.
func (d *decoder) values(id int64, t *arrow.DictionaryType) (*array.Data, error) {
	have := d.dicts[id]
	if have == nil || len(have.parts) == 0 {
		return nil, fmt.Errorf("%w: dictionary %d is used before it comes", errDamaged, id)
	}
	if len(have.parts) > 1 {
		whole, err := block.MergeArrays(d.mem, have.parts)
		if err != nil {
			return nil, fmt.Errorf("dictionary %d: %w", id, err)
		}
		have.release()
		have.parts = []arrow.Array{whole}
	}
	data, _ := have.parts[0].Data().(*array.Data)
	if !arrow.TypeEqual(data.DataType(), t.ValueType) {
		return nil, fmt.Errorf("%w: two columns of different types share dictionary %d", errDamaged, id)
	}
	return data, nil
}

// release frees the dictionaries.
func (d *decoder) release() {
	for _, x := range d.dicts {
		x.release()
	}
	d.dicts = map[int64]*dictionary{}
}
