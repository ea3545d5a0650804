package codec

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// StreamAt is where the first message of a stream begins: its metadata follows at a multiple of 64.
	StreamAt   = align - prefixBytes
	prefixByte = 0xFF
	// prefixBytes are the continuation marker and the length of the metadata before each message of a stream.
	prefixBytes = 8
)

// StreamEncoder makes Arrow IPC streams of one record for another process that maps them, whatever Arrow library it has. They are ordinary
// streams, apart from two things: they begin at StreamAt, so that each buffer lies at a multiple of 64 from the start of dst; and only those whose
// schema has dictionaries begin with the schema (HasSchema), since readers that know it read the single record message faster. It is
// not safe for concurrent use.
type StreamEncoder struct {
	schema *arrow.Schema
	mem    memory.Allocator
	dicts  bool
	writer *ipc.Writer
	dst    []byte
}

// NewStreamEncoder makes an encoder. Small buffers for bitmaps and offsets of sliced arrays come from mem.
func NewStreamEncoder(schema *arrow.Schema, mem memory.Allocator) *StreamEncoder {
	return &StreamEncoder{schema: schema, mem: mem, dicts: dictionaries(schema.Fields()) > 0}
}

// HasSchema says whether the streams begin with the schema and hold dictionaries, or are one record message.
func (e *StreamEncoder) HasSchema() bool { return e.dicts }

// Append appends the stream of rec, which is borrowed and must have the columns of the schema, to dst, which must be empty. If its capacity is
// too small the result is a new slice, as with append.
func (e *StreamEncoder) Append(dst []byte, rec arrow.RecordBatch) ([]byte, error) {
	if len(dst) != 0 {
		return nil, errors.New("encode stream: there are bytes before it")
	}
	same := array.NewRecordBatch(e.schema, rec.Columns(), rec.NumRows()) // the writer insists on equal metadata
	defer same.Release()
	e.dst = grow(dst, StreamAt)
	clear(e.dst)
	defer func() { e.dst = nil }()
	if e.writer == nil {
		e.writer = ipc.NewWriterWithPayloadWriter((*stream)(e), ipc.WithSchema(e.schema), ipc.WithAllocator(e.mem))
	}
	err := e.writer.Write(same)
	if e.dicts { // a kept writer would leave out dictionaries that it has written before
		err = errors.Join(err, e.writer.Close())
		e.writer = nil
	}
	if err != nil {
		e.writer = nil
		return nil, fmt.Errorf("encode stream: %w", err)
	}
	return e.dst, nil
}

// stream is the StreamEncoder as the IPC writer sees it.
type stream StreamEncoder

var _ ipc.PayloadWriter = (*stream)(nil)

// Start implements ipc.PayloadWriter.
func (*stream) Start() error { return nil }

// Close implements ipc.PayloadWriter.
func (*stream) Close() error { return nil }

// WritePayload implements ipc.PayloadWriter: a prefix, metadata padded so that the body begins at a multiple of 64, and a body padded so that
// the metadata of the next message does.
func (s *stream) WritePayload(p ipc.Payload) error {
	meta := p.Meta()
	defer meta.Release()
	schema := messageType(meta) == ipc.MessageSchema
	if schema && !s.dicts {
		return nil
	}
	at := len(s.dst)
	s.dst = append(s.dst, prefixByte, prefixByte, prefixByte, prefixByte, 0, 0, 0, 0)
	s.dst = append(s.dst, meta.Bytes()...)
	own := s.dst[at+prefixBytes:]
	var moves []place
	raw := int64(0)
	if !schema {
		moves, raw = relayout(own)
	}
	if raw == 0 { // no body: the next prefix follows the metadata
		s.pad(StreamAt)
		s.length(at, len(s.dst)-at-prefixBytes)
		return nil
	}
	setBodyLength(own, raw+StreamAt)
	s.pad(0)
	s.length(at, len(s.dst)-at-prefixBytes)
	body := len(s.dst)
	s.dst = grow(s.dst, int(raw)+StreamAt)
	return fillBody(&p, s.dst[body:], moves)
}

// length writes the length of the metadata of the message at the given place.
func (s *stream) length(at, n int) { binary.LittleEndian.PutUint32(s.dst[at+4:], uint32(n)) }

// pad appends zeroes until the length is at the given place modulo 64.
func (s *stream) pad(to int) {
	at := len(s.dst)
	s.dst = grow(s.dst, (to-at)&(align-1))
	clear(s.dst[at:])
}

// fillBody places the buffers of a message in body and zeroes what lies between them.
func fillBody(p *ipc.Payload, body []byte, moves []place) error {
	gap := int64(0)
	for _, m := range moves {
		clear(body[gap:m.to])
		gap = m.to + m.n
	}
	clear(body[gap:])
	return p.SerializeBody(&spreader{dst: body, moves: moves})
}

// ViewStream reads a stream of one record, as any Arrow library writes it, in place: the record's buffers are parts of buf, which they hold. The
// stream begins at offset at of buf; bytes after its record are ignored. Nothing about it is trusted but that it stays as it is while the record is
// held. Compressed bodies are expanded into memory of mem. The caller releases the record. Errors about the bytes wrap ErrCorrupt.
func (d *Decoder) ViewStream(mem memory.Allocator, buf *memory.Buffer, at int) (arrow.RecordBatch, error) {
	size := int64(buf.Len())
	if size > d.limit {
		return nil, fmt.Errorf("view stream: %w", corrupt("%d bytes are above the limit of %d", size, d.limit))
	}
	rec, err := d.guarded(mem, 2*size+slack, func(list *messages, _ memory.Allocator) error { return list.split(d, buf, at) })
	if err != nil {
		return nil, fmt.Errorf("view stream: %w", err)
	}
	return rec, nil
}

// split finds the messages of a stream, up to its first record.
func (m *messages) split(d *Decoder, buf *memory.Buffer, at int) error {
	p := buf.Bytes()
	if at < 0 || at > len(p) {
		return corrupt("a stream at %d of %d bytes", at, len(p))
	}
	for len(m.list) <= maxSections {
		if len(p)-at < prefixBytes || binary.LittleEndian.Uint32(p[at:]) != 0xFFFFFFFF {
			return corrupt("no message at %d", at)
		}
		n := int(binary.LittleEndian.Uint32(p[at+4:]))
		at += prefixBytes
		if n == 0 {
			return corrupt("the stream ends without a record")
		}
		if n < 8 || n > len(p)-at {
			return corrupt("metadata of %d bytes does not fit", n)
		}
		meta := append([]byte(nil), p[at:at+n]...)
		at += n
		head := newMessage(meta, nil)
		kind, size := head.Type(), head.BodyLen()
		head.Release()
		if size < 0 || size > int64(len(p)-at) {
			return corrupt("a body of %d bytes does not fit", size)
		}
		if len(m.list) == 0 && kind != ipc.MessageSchema {
			m.list = append(m.list, newMessage(d.meta, nil))
		}
		body := memory.SliceBuffer(buf, at, int(size))
		m.list = append(m.list, newMessage(meta, body))
		body.Release()
		at += int(size)
		if kind == ipc.MessageRecordBatch {
			return nil
		}
	}
	return corrupt("more than %d messages", maxSections)
}
