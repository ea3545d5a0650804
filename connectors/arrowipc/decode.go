package arrowipc

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/codec/arrowmeta"
)

// fetch reads n bytes of a body from off on into a buffer that the caller releases.
type fetch func(off, n int64) (*memory.Buffer, error)

// decoder turns the bodies of messages into arrays.
type decoder struct {
	mem   memory.Allocator
	limit int64 // decoded bytes of one batch
	cols  []fileColumn
	want  *arrow.Schema // the wanted columns that the file has
	dicts map[int64]*dictionary
	types map[int64]dictType // of the dictionaries of wanted columns
}

// fileColumn is one column of the file.
type fileColumn struct {
	name   string
	dt     arrow.DataType
	field  arrowmeta.Field
	wanted bool
}

type dictType struct {
	dt    arrow.DataType
	field arrowmeta.Field
}

// shape prepares for the columns of a file. want is in the order of the pinned schema; columns come in that order too.
func (d *decoder) shape(s *arrow.Schema, fields []arrowmeta.Field, want *arrow.Schema) {
	d.types = map[int64]dictType{}
	for i, f := range s.Fields() {
		c := fileColumn{name: f.Name, dt: f.Type, wanted: want.HasField(f.Name)}
		if i < len(fields) {
			c.field = fields[i]
		}
		if c.wanted {
			d.note(c.dt, c.field)
		}
		d.cols = append(d.cols, c)
	}
	var have []arrow.Field
	for _, f := range want.Fields() {
		if got, ok := s.FieldsByName(f.Name); ok {
			have = append(have, arrow.Field{Name: f.Name, Type: got[0].Type, Nullable: true})
		}
	}
	d.want = arrow.NewSchema(have, nil)
}

// note remembers the types of the dictionaries below a field.
func (d *decoder) note(dt arrow.DataType, f arrowmeta.Field) {
	dt = storage(dt)
	if t, ok := dt.(*arrow.DictionaryType); ok && f.Dictionary {
		d.types[f.ID] = dictType{t.ValueType, arrowmeta.Field{View: f.View, Children: f.Children}}
		dt = storage(t.ValueType)
	}
	if t, ok := dt.(arrow.NestedType); ok {
		for i, c := range t.Fields() {
			if i < len(f.Children) {
				d.note(c.Type, f.Children[i])
			}
		}
	}
}

func storage(dt arrow.DataType) arrow.DataType {
	for {
		e, ok := dt.(arrow.ExtensionType)
		if !ok {
			return dt
		}
		dt = e.StorageType()
	}
}

// record decodes the wanted columns of a record batch.
func (d *decoder) record(m *message, get fetch) (rec arrow.RecordBatch, err error) {
	w := &walk{decoder: d, batch: &m.batch, left: d.limit}
	found := map[string]arrow.Array{}
	defer func() {
		for _, a := range found {
			a.Release()
		}
	}()
	read := int64(0)
	for _, c := range d.cols {
		if !c.wanted {
			err = w.skip(c.dt, c.field)
		} else {
			found[c.name], err = w.column(c, m, get, &read)
		}
		if err != nil {
			delete(found, c.name)
			return nil, fmt.Errorf("column %q: %w", c.name, err)
		}
	}
	cols := make([]arrow.Array, 0, d.want.NumFields())
	for _, f := range d.want.Fields() {
		cols = append(cols, found[f.Name])
	}
	return array.NewRecordBatch(d.want, cols, m.batch.length), nil
}

// walk goes through the nodes and buffers of one batch, which lie in the order of the fields, parents before children.
type walk struct {
	*decoder
	*batch
	node, buf int
	view      int   // columns of views passed
	left      int64 // bytes that may still be decoded
	body      *memory.Buffer
	base      int64 // position of body in the message's body
}

var errShort = fmt.Errorf("%w: it has fewer arrays than the schema", errDamaged)

// column reads and decodes one column.
func (w *walk) column(c fileColumn, m *message, get fetch, read *int64) (arrow.Array, error) {
	ahead := *w
	if err := ahead.skip(c.dt, c.field); err != nil {
		return nil, err
	}
	from, to := int64(-1), int64(0)
	for _, s := range w.buffers[w.buf:ahead.buf] {
		if s.n > 0 {
			if from < 0 || s.off < from {
				from = s.off
			}
			to = max(to, s.off+s.n)
		}
	}
	if from < 0 {
		from = 0
	}
	// Buffers of a column lie together. Overlapping ones could make a small file stand for a great deal of memory.
	if *read += to - from; *read > m.body+m.body/8+4096 || to-from > w.left {
		if to-from > w.left {
			return nil, w.tooLarge(to - from)
		}
		return nil, fmt.Errorf("%w: its buffers overlap those of other columns", errDamaged)
	}
	body, err := get(from, to-from)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	w.body, w.base = body, from
	data, err := w.array(c.dt, c.field, 0)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	if int64(data.Len()) != w.length {
		return nil, fmt.Errorf("%w: %d values for %d rows", errDamaged, data.Len(), w.length)
	}
	return array.MakeFromData(data), nil
}

func (w *walk) tooLarge(n int64) error {
	return fmt.Errorf("its record batch decodes to more than max_batch=%s (%d bytes more); raise max_batch, or write smaller batches",
		dataset.ByteSize(w.limit), n-w.left)
}

// shapeOf is how many buffers a type has, and its children.
func shapeOf(dt arrow.DataType) (buffers int, children []arrow.Field) {
	switch t := dt.(type) {
	case *arrow.NullType:
		return 0, nil
	case *arrow.StructType, *arrow.FixedSizeListType:
		return 1, t.(arrow.NestedType).Fields()
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType:
		return 2, t.(arrow.NestedType).Fields()
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.StringType, *arrow.LargeStringType:
		return 3, nil
	}
	return 2, nil
}

// layout is how many buffers the next array has, which is of a type and a field, and its children.
func (w *walk) layout(dt arrow.DataType, f arrowmeta.Field) (buffers int, children []arrow.Field, view bool, err error) {
	if f.View && dt.ID() != arrow.DICTIONARY {
		buffers, err = w.viewBuffers()
		return buffers, nil, true, err
	}
	buffers, children = shapeOf(dt)
	return buffers, children, false, nil
}

func childOf(f arrowmeta.Field, i int) arrowmeta.Field {
	if i < len(f.Children) {
		return f.Children[i]
	}
	return arrowmeta.Field{}
}

// skip passes over the arrays of a column.
func (w *walk) skip(dt arrow.DataType, f arrowmeta.Field) error {
	n, children, _, err := w.layout(storage(dt), f)
	if err != nil {
		return err
	}
	w.node++
	w.buf += n
	if w.node > len(w.nodes) || w.buf > len(w.buffers) {
		return errShort
	}
	for i, c := range children {
		if err := w.skip(c.Type, childOf(f, i)); err != nil {
			return err
		}
	}
	return nil
}

// array decodes one array and its children.
func (w *walk) array(dt arrow.DataType, f arrowmeta.Field, depth int) (out *array.Data, err error) {
	st := storage(dt)
	count, fields, view, err := w.layout(st, f)
	if err != nil {
		return nil, err
	}
	if depth > arrowmeta.MaxDepth || w.node >= len(w.nodes) || w.buf+count > len(w.buffers) {
		return nil, errShort
	}
	n := w.nodes[w.node]
	w.node++
	raw := make([]*memory.Buffer, count)
	var children []arrow.ArrayData
	defer func() {
		for _, b := range raw {
			if b != nil {
				b.Release()
			}
		}
		for _, c := range children {
			c.Release()
		}
	}()
	for i := range raw {
		if raw[i], err = w.buffer(w.buffers[w.buf]); err != nil {
			return nil, err
		}
		w.buf++
	}
	for i, c := range fields {
		child, err := w.array(c.Type, childOf(f, i), depth+1)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	if count == 0 {
		return array.NewData(dt, int(n.length), []*memory.Buffer{nil}, nil, int(n.length), 0), nil
	}
	nulls, err := validity(raw, n)
	if err != nil {
		return nil, err
	}
	if view {
		return w.gather(dt, int(n.length), nulls, raw)
	}
	if err := check(st, int(n.length), raw, children); err != nil {
		return nil, err
	}
	if t, ok := st.(*arrow.DictionaryType); ok {
		return w.encoded(dt, t, f, n, nulls, raw)
	}
	return array.NewData(dt, int(n.length), raw, children, nulls, 0), nil
}

// validity checks the bitmap, and drops one that says nothing.
func validity(raw []*memory.Buffer, n node) (nulls int, err error) {
	b := raw[0]
	if n.nulls == 0 || b == nil || b.Len() == 0 {
		if n.nulls > 0 && n.length > 0 {
			return 0, fmt.Errorf("%w: %d nulls without a bitmap", errDamaged, n.nulls)
		}
		if b != nil {
			b.Release()
		}
		raw[0] = nil
		return 0, nil
	}
	if int64(b.Len()) < bitutil.BytesForBits(n.length) {
		return 0, fmt.Errorf("%w: a bitmap of %d bytes for %d values", errDamaged, b.Len(), n.length)
	}
	return int(n.length) - bitutil.CountSetBits(b.Bytes(), 0, int(n.length)), nil
}

// encoded makes a dictionary array.
func (w *walk) encoded(dt arrow.DataType, t *arrow.DictionaryType, f arrowmeta.Field, n node, nulls int, raw []*memory.Buffer) (*array.Data, error) {
	if !f.Dictionary {
		return nil, fmt.Errorf("%w: a dictionary column without a dictionary", errDamaged)
	}
	values, err := w.values(f.ID, t)
	if err != nil {
		return nil, err
	}
	if err := checkIndices(t, int(n.length), raw, nulls, values.Len()); err != nil {
		return nil, err
	}
	return array.NewDataWithDictionary(dt, int(n.length), raw, nulls, 0, values), nil
}

// buffer takes one buffer out of the body. It is nil where there is none.
func (w *walk) buffer(s span) (*memory.Buffer, error) {
	if s.n == 0 {
		return nil, nil
	}
	if s.off < w.base || s.off+s.n > w.base+int64(w.body.Len()) {
		return nil, errors.New("internal error: a buffer was not read")
	}
	if w.codec != plain {
		return w.unpack(w.body.Bytes()[s.off-w.base:][:s.n])
	}
	if s.n > w.left {
		return nil, w.tooLarge(s.n)
	}
	w.left -= s.n
	if p := &w.body.Bytes()[s.off-w.base]; uintptr(unsafe.Pointer(p))%8 == 0 {
		return memory.SliceBuffer(w.body, int(s.off-w.base), int(s.n)), nil
	}
	b := memory.NewResizableBuffer(w.mem) // not aligned, as no writer makes it
	b.Resize(int(s.n))
	copy(b.Bytes(), w.body.Bytes()[s.off-w.base:])
	return b, nil
}
