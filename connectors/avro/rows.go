package avro

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// rows reads the rows of one range. Blocks before it are passed over by their heads.
type rows struct {
	rt       dataset.Runtime
	text     *file.Text
	in       *counter
	head     *header
	unpack   *unpacker
	limit    dataset.ByteSize
	from, to uint64
	target   int64
	max      int

	schema   *arrow.Schema // the wanted columns that the file has
	builders []array.Builder
	fields   []decode // of the file, in its order
	names    []string

	packed []byte
	data   cursor
	left   uint64 // rows still in data
	at     uint64 // row number of the next row
	number int    // blocks seen
	n      int    // rows in the builders
	size   int64  // bytes that they were decoded from
	done   bool
}

func (r *rows) open(want *arrow.Schema) (err error) {
	if r.head, err = readHeader(r.in); err != nil {
		return err
	}
	if r.unpack, err = newUnpacker(r.head.codec, r.limit); err != nil {
		return err
	}
	root, have, err := parseSchema(r.head.schema)
	if err != nil {
		return err
	}
	at := map[string]array.Builder{}
	var fields []arrow.Field
	for _, f := range want.Fields() {
		for _, g := range have {
			if g.Name == f.Name {
				b := array.NewBuilder(r.rt.Allocator(), g.Type)
				at[f.Name] = b
				r.builders = append(r.builders, b)
				fields = append(fields, arrow.Field{Name: f.Name, Type: g.Type, Nullable: true})
			}
		}
	}
	r.schema = arrow.NewSchema(fields, nil)
	for i := range root.Fields {
		f := &root.Fields[i]
		r.names = append(r.names, f.Name)
		if b := at[f.Name]; b != nil {
			r.fields = append(r.fields, reads(&f.Type, b))
		} else {
			r.fields = append(r.fields, reads(&f.Type, nil))
		}
	}
	return nil
}

// Next implements tables.Rows.
func (r *rows) Next(ctx context.Context) (arrow.RecordBatch, []block.Run, error) {
	first := r.at
	for !r.done && r.n < r.max && (r.n == 0 || r.size < r.target) {
		if r.left == 0 {
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			switch err := r.block(); {
			case err == io.EOF:
				r.done = true
			case err != nil:
				return nil, nil, fmt.Errorf("block %d, from row %d: %w", r.number, r.at, err)
			}
			continue
		}
		if r.at >= r.to {
			r.done = true
			break
		}
		before := len(r.data.p)
		for i, f := range r.fields {
			if err := f(&r.data); err != nil {
				return nil, nil, fmt.Errorf("block %d, row %d, column %q: %w", r.number, r.at, r.names[i], err)
			}
		}
		r.left--
		r.at++
		if r.left == 0 && len(r.data.p) > 0 {
			return nil, nil, fmt.Errorf("block %d: %w: %d bytes are left after its last row", r.number, errDamaged, len(r.data.p))
		}
		if r.at <= r.from { // a row before the range, in a block that reaches into it
			r.discard()
			continue
		}
		if r.n == 0 {
			first = r.at - 1
		}
		r.n++
		r.size += int64(before - len(r.data.p))
	}
	if r.n == 0 {
		return nil, nil, io.EOF
	}
	cols := make([]arrow.Array, len(r.builders))
	for i, b := range r.builders {
		cols[i] = b.NewArray()
		defer cols[i].Release()
	}
	rec := array.NewRecordBatch(r.schema, cols, int64(r.n))
	run := block.Run{First: first, N: uint32(r.n), Stride: 1}
	r.n, r.size = 0, 0
	return rec, []block.Run{run}, nil
}

// discard empties the builders.
func (r *rows) discard() {
	for _, b := range r.builders {
		b.NewArray().Release()
	}
}

// firstStep is how much room a block gets before its bytes have come.
const firstStep = 1 << 20

// block reads the next block, or passes over it.
func (r *rows) block() error {
	if r.at >= r.to {
		return io.EOF
	}
	n, size, err := blockHead(r.in)
	if err != nil {
		return err
	}
	r.number++
	if r.at+n <= r.from {
		if err := skip(r.in, size); err != nil {
			return err
		}
		r.at += n
		return r.mark()
	}
	if size > int64(r.limit) {
		return fmt.Errorf("it has %d bytes, more than max_block=%s; raise max_block to read it", size, r.limit)
	}
	for have := int64(0); have < size; {
		to := min(size, max(2*have, firstStep))
		if int64(cap(r.packed)) < to {
			r.packed = append(make([]byte, 0, to), r.packed[:have]...)
		}
		r.packed = r.packed[:to]
		if _, err := io.ReadFull(r.in, r.packed[have:]); err != nil {
			return cut(err)
		}
		have = to
	}
	if err := r.mark(); err != nil {
		return err
	}
	data, err := r.unpack.unpack(r.packed[:size])
	if err != nil {
		return err
	}
	if n > uint64(len(data))+freeItems {
		return fmt.Errorf("%w: %d rows in %d bytes", errDamaged, n, len(data))
	}
	r.data, r.left = cursor{data}, n
	return nil
}

// mark checks the sync marker after a block.
func (r *rows) mark() error {
	var m [syncBytes]byte
	if _, err := io.ReadFull(r.in, m[:]); err != nil {
		return cut(err)
	}
	if m != r.head.sync {
		return fmt.Errorf("%w: the sync marker after it is not that of the header", errDamaged)
	}
	return nil
}

// Check implements tables.Rows.
func (r *rows) Check() error { return r.text.Check() }

// Close implements tables.Rows.
func (r *rows) Close() error {
	for _, b := range r.builders {
		b.Release()
	}
	if r.unpack != nil {
		r.unpack.close()
	}
	return errors.Join(r.text.Close())
}
