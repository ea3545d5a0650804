package store

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/codec"
)

// Segments is the Tier that writes records to shared memory as Arrow IPC streams, which pyarrow and others open in place: where, says Span of what it
// stored.
type Segments struct {
	shared *Shared
	enc    *codec.StreamEncoder
	dec    *codec.Decoder
}

var _ Tier = (*Segments)(nil)

// NewSegments makes a tier for records of one schema. Scratch memory for encoding comes from mem.
func NewSegments(s *Shared, schema *arrow.Schema, mem memory.Allocator) (*Segments, error) {
	dec, err := codec.NewDecoder(schema, 0)
	if err != nil {
		return nil, fmt.Errorf("make store in shared memory: %w", err)
	}
	return &Segments{shared: s, enc: codec.NewStreamEncoder(schema, mem), dec: dec}, nil
}

// room is what a stream takes beyond the bytes of its columns: its metadata and padding, for each array.
const room = 1 << 10

// Put implements Tier.
func (t *Segments) Put(rec arrow.RecordBatch) (Stored, error) {
	n := room
	for _, c := range rec.Columns() {
		n += int(block.ArrayBytes(c)) + room*arrays(c.Data())
	}
	slot, err := t.shared.Alloc(n)
	if err != nil {
		return nil, fmt.Errorf("put record in shared memory: %w", err)
	}
	p, err := t.enc.Append(slot[:0], rec)
	if err != nil {
		t.shared.Free(slot)
		return nil, fmt.Errorf("put record in shared memory: %w", err)
	}
	if unsafe.SliceData(p) != unsafe.SliceData(slot) { // larger than was thought: now its size is known
		t.shared.Free(slot)
		if slot, err = t.shared.Alloc(len(p)); err != nil {
			return nil, fmt.Errorf("put record in shared memory: %w", err)
		}
		copy(slot, p)
	}
	return &SharedRecord{tier: t, buf: t.shared.Buffer(slot[:len(p)])}, nil
}

func arrays(d arrow.ArrayData) int {
	n := 1
	for _, c := range d.Children() {
		n += arrays(c)
	}
	if d.DataType().ID() == arrow.DICTIONARY {
		n += arrays(d.Dictionary())
	}
	return n
}

// SharedRecord is a record in shared memory.
type SharedRecord struct {
	tier *Segments
	buf  *memory.Buffer
}

var _ Stored = (*SharedRecord)(nil)

// Bytes implements Stored.
func (r *SharedRecord) Bytes() int64 { return int64(r.buf.Cap()) }

// Span tells where the stream lies. Its first message begins codec.StreamAt bytes on; whether that is the schema, says HasSchema.
func (r *SharedRecord) Span() Span {
	at, _ := r.tier.shared.Locate(r.buf.Bytes())
	return at
}

// HasSchema says whether the stream begins with the schema; else it is the record's message alone, for readers that know the schema.
func (r *SharedRecord) HasSchema() bool { return r.tier.enc.HasSchema() }

// Load implements Stored. The record views the shared memory, which stays until the record is released too.
func (r *SharedRecord) Load(mem memory.Allocator) (arrow.RecordBatch, error) {
	rec, err := r.tier.dec.ViewStream(mem, r.buf, codec.StreamAt)
	if err != nil {
		return nil, fmt.Errorf("read record from shared memory: %w", err)
	}
	return rec, nil
}

// Release implements Stored.
func (r *SharedRecord) Release() { r.buf.Release() }

// Buffer makes an Arrow buffer of bytes of Alloc, which are freed when its last user releases it.
func (s *Shared) Buffer(b []byte) *memory.Buffer { return memory.NewBufferWithAllocator(b, freer{s}) }

// freer is Shared as what frees a buffer.
type freer struct{ *Shared }

// Allocate implements memory.Allocator; it panics when there is no room.
func (f freer) Allocate(n int) []byte {
	b, err := f.Alloc(n)
	if err != nil {
		panic(err) //nolint // an Arrow allocator cannot return an error
	}
	clear(b[:cap(b)])
	return b
}

// Reallocate implements memory.Allocator.
func (f freer) Reallocate(n int, b []byte) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	out := f.Allocate(n)
	copy(out, b)
	f.Free(b)
	return out
}
