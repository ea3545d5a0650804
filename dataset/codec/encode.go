package codec

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/pierrec/lz4/v4"
)

// Encoder makes frames of records of one schema. It is not safe for concurrent use.
type Encoder struct {
	schema      *arrow.Schema
	compression Compression
	mem         memory.Allocator
	room        int         // sections that a frame can have: its dictionaries and the record
	writer      *ipc.Writer // kept from frame to frame where there are no dictionaries, which it would not repeat
	lz4         lz4.Compressor
	body        []byte // scratch: one uncompressed body

	// The frame under way.
	dst   []byte
	start int
	head  header
}

// NewEncoder makes an encoder. Small buffers for bitmaps and offsets of sliced arrays come from mem.
func NewEncoder(schema *arrow.Schema, c Compression, mem memory.Allocator) *Encoder {
	return &Encoder{schema: schema, compression: c, mem: mem, room: 1 + dictionaries(schema.Fields())}
}

// Append appends the frame of rec to dst and returns it, as append does. rec is borrowed and must have the columns of the schema.
func (e *Encoder) Append(dst []byte, rec arrow.RecordBatch) ([]byte, error) {
	if int(rec.NumCols()) != e.schema.NumFields() {
		return nil, fmt.Errorf("encode frame: the record has %d columns, want %d", rec.NumCols(), e.schema.NumFields())
	}
	for i, f := range e.schema.Fields() {
		if t := rec.Column(i).DataType(); !arrow.TypeEqual(t, f.Type) {
			return nil, fmt.Errorf("encode frame: column %q is %s, want %s", f.Name, t, f.Type)
		}
	}
	same := array.NewRecordBatch(e.schema, rec.Columns(), rec.NumRows()) // the writer insists on equal metadata
	defer same.Release()
	e.begin(dst, uint64(rec.NumRows()))
	defer func() { e.dst = nil }()
	if err := e.write(same); err != nil {
		e.writer = nil
		return nil, fmt.Errorf("encode frame: %w", err)
	}
	e.head.total = uint64(len(e.dst) - e.start)
	e.head.put(e.dst[e.start:])
	seal(e.dst[e.start:])
	return e.dst, nil
}

func (e *Encoder) begin(dst []byte, rows uint64) {
	e.start = len(dst)
	e.dst = grow(dst, HeaderBytes+pad(e.room*sectionBytes))
	clear(e.dst[e.start:])
	e.head = header{compression: e.compression, rows: rows}
}

func (e *Encoder) write(rec arrow.RecordBatch) error {
	fresh := e.writer == nil
	if fresh {
		e.writer = ipc.NewWriterWithPayloadWriter((*sections)(e), ipc.WithSchema(e.schema), ipc.WithAllocator(e.mem))
	}
	err := e.writer.Write(rec)
	if e.room > 1 { // a kept writer would leave out dictionaries that it has written before
		err = errors.Join(err, e.writer.Close())
		e.writer = nil
	}
	return err
}

// Held returns the bytes of scratch memory that the encoder keeps from frame to frame.
func (e *Encoder) Held() int64 { return int64(cap(e.body)) }

// sections is the Encoder as the IPC writer sees it: each message becomes a section.
type sections Encoder

var _ ipc.PayloadWriter = (*sections)(nil)

// Start implements ipc.PayloadWriter.
func (*sections) Start() error { return nil }

// Close implements ipc.PayloadWriter.
func (*sections) Close() error { return nil }

// WritePayload implements ipc.PayloadWriter. The schema is left out: both sides know it.
func (s *sections) WritePayload(p ipc.Payload) error {
	meta := p.Meta()
	defer meta.Release()
	if messageType(meta) == ipc.MessageSchema {
		return nil
	}
	e := (*Encoder)(s)
	i := int(e.head.sections)
	if i == e.room {
		return fmt.Errorf("more than %d messages for one record", e.room)
	}
	at := len(e.dst)
	e.dst = padded(append(e.dst, meta.Bytes()...), e.start)
	moves, raw := relayout(e.dst[at : at+meta.Len()])
	sec := section{meta: uint32(meta.Len()), raw: uint64(raw)}
	at = len(e.dst)
	if err := e.writeBody(&p, moves, int(raw)); err != nil {
		return err
	}
	sec.stored = uint64(len(e.dst) - at)
	e.dst = padded(e.dst, e.start)
	sec.put(e.dst[e.start+HeaderBytes+i*sectionBytes:])
	e.head.raw += sec.raw
	e.head.sections++
	return nil
}

// writeBody appends the body of raw bytes, compressed if asked for.
func (e *Encoder) writeBody(p *ipc.Payload, moves []place, raw int) error {
	at, body := len(e.dst), []byte(nil)
	if e.compression == None {
		e.dst = grow(e.dst, raw)
		body = e.dst[at:]
	} else {
		e.body = grow(e.body[:0], raw)
		body = e.body
	}
	if err := fillBody(p, body, moves); err != nil || e.compression == None {
		return err
	}
	dst, err := e.compress(e.dst, body)
	if err == nil {
		e.dst = dst
	}
	return err
}

// padded appends zeroes up to a multiple of 64 from start.
func padded(dst []byte, start int) []byte {
	at := len(dst)
	dst = grow(dst, pad(at-start)-(at-start))
	clear(dst[at:])
	return dst
}

func messageType(meta interface{ Bytes() []byte }) ipc.MessageType {
	m := newMessage(meta.Bytes(), nil)
	defer m.Release()
	return m.Type()
}

// dictionaries counts the dictionaries of fields, nested ones included.
func dictionaries(fields []arrow.Field) int {
	n := 0
	for _, f := range fields {
		n += dictionariesOf(f.Type)
	}
	return n
}

func dictionariesOf(dt arrow.DataType) int {
	switch t := dt.(type) {
	case *arrow.DictionaryType:
		return 1 + dictionariesOf(t.ValueType)
	case arrow.ExtensionType:
		return dictionariesOf(t.StorageType())
	case arrow.NestedType:
		return dictionaries(t.Fields())
	}
	return 0
}
