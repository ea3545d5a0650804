package arrowipc

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sluice-data/sluice/dataset/codec/arrowmeta"
)

// message is the metadata of a record batch or a dictionary.
type message struct {
	kind  kind
	body  int64
	id    int64 // of the dictionary
	delta bool
	batch batch
}

// batch says how a body is divided.
type batch struct {
	length  int64
	nodes   []node
	buffers []span
	// variadic is how many buffers of long values each column of views has.
	variadic []int64
	codec    codec
}

// node is the length of one array.
type node struct{ length, nulls int64 }

// span is one buffer in the body.
type span struct{ off, n int64 }

type codec int8

const (
	plain codec = iota - 1
	lz4Frame
	zstdFrame
)

// parseMessage reads an encapsulated message and checks that its buffers lie in its body.
func parseMessage(b []byte) (*message, error) {
	flatbuf, err := arrowmeta.Encapsulated(b)
	if err != nil {
		return nil, err
	}
	f := arrowmeta.NewFlat(flatbuf)
	root, err := f.Root()
	if err != nil {
		return nil, err
	}
	typ, err := f.Int(root, arrowmeta.MessageType, 1, 0)
	if err != nil {
		return nil, err
	}
	m := &message{}
	if m.body, err = f.Int(root, arrowmeta.MessageBody, 8, 0); err != nil {
		return nil, err
	}
	table, err := f.Table(root, arrowmeta.MessageHeader)
	if err != nil {
		return nil, err
	}
	switch {
	case table == 0 || m.body < 0:
		return nil, errDamaged
	case typ == arrowmeta.HeaderBatch:
	case typ == arrowmeta.HeaderDictionary:
		m.kind = isDictionary
		if m.id, err = f.Int(table, dictID, 8, 0); err != nil {
			return nil, err
		}
		delta, err := f.Int(table, dictDelta, 1, 0)
		if err != nil {
			return nil, err
		}
		m.delta = delta != 0
		if table, err = f.Table(table, dictData); err != nil || table == 0 {
			return nil, errDamaged
		}
	default:
		return nil, fmt.Errorf("a message of kind %d; only dictionaries and record batches may follow the schema", typ)
	}
	return m, m.batch.parse(f, table, m.body)
}

// parse reads a RecordBatch table.
func (r *batch) parse(f *arrowmeta.Flat, table int, body int64) (err error) {
	if r.length, err = f.Int(table, batchLength, 8, 0); err != nil {
		return err
	}
	if r.length < 0 || r.length > math.MaxInt32 {
		return fmt.Errorf("%w: %d rows in one batch; the limit is %d", errDamaged, r.length, math.MaxInt32)
	}
	n, first, err := f.Vector(table, batchNodes, 16)
	if err != nil {
		return err
	}
	r.nodes = make([]node, n)
	for i := range r.nodes {
		p := f.B[first+16*i:]
		r.nodes[i] = node{int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:]))}
		if l := r.nodes[i].length; l < 0 || l > math.MaxInt32 {
			return fmt.Errorf("%w: an array of %d values; the limit is %d", errDamaged, l, math.MaxInt32)
		}
	}
	if n, first, err = f.Vector(table, batchBuffers, 16); err != nil {
		return err
	}
	r.buffers = make([]span, n)
	for i := range r.buffers {
		p := f.B[first+16*i:]
		s := span{int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:]))}
		if s.off < 0 || s.n < 0 || s.off > body || s.n > body-s.off {
			return fmt.Errorf("%w: a buffer of %d bytes at %d in a body of %d", errDamaged, s.n, s.off, body)
		}
		r.buffers[i] = s
	}
	if n, first, err = f.Vector(table, batchVariadic, 8); err != nil {
		return err
	}
	r.variadic = make([]int64, n)
	for i := range r.variadic {
		r.variadic[i] = int64(binary.LittleEndian.Uint64(f.B[first+8*i:]))
	}
	r.codec = plain
	c, err := f.Table(table, batchCompression)
	if err != nil || c == 0 {
		return err
	}
	v, err := f.Int(c, 0, 1, 0)
	if err != nil {
		return err
	}
	if v > 1 {
		return fmt.Errorf("compression codec %d is not known; write with lz4 or zstd", v)
	}
	r.codec = codec(v)
	return nil
}
