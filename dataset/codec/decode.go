package codec

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// DefaultLimit is the frame size above which decoders refuse, unless told otherwise.
const DefaultLimit = 1 << 31

// slack is what decoding a frame may take beyond its bodies.
const slack = 64 << 10

// Decoder reads frames of records of one schema. It may be used by several goroutines at once.
type Decoder struct {
	schema *arrow.Schema
	meta   []byte // the schema message
	limit  int64
}

// NewDecoder makes a decoder. Frames that are, or claim to expand to, more than limit bytes are refused; 0 means DefaultLimit.
func NewDecoder(schema *arrow.Schema, limit int64) (*Decoder, error) {
	meta, err := EncodeSchema(schema)
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = DefaultLimit
	}
	return &Decoder{schema, meta, limit}, nil
}

// Decode reads one frame. The record's buffers come from mem and are aligned as mem aligns; frame is not used afterwards. The caller
// releases the record. Errors about the bytes wrap ErrCorrupt.
func (d *Decoder) Decode(mem memory.Allocator, frame []byte) (arrow.RecordBatch, error) {
	return d.decode(mem, frame, nil)
}

// View reads one uncompressed frame in place: the record's buffers are parts of buf, which they hold. Compressed bodies are expanded into
// memory of mem.
func (d *Decoder) View(mem memory.Allocator, buf *memory.Buffer) (arrow.RecordBatch, error) {
	return d.decode(mem, buf.Bytes(), buf)
}

func (d *Decoder) decode(mem memory.Allocator, frame []byte, whole *memory.Buffer) (arrow.RecordBatch, error) {
	h, err := parseHeader(frame, d.limit)
	if err != nil {
		return nil, fmt.Errorf("decode frame: %w", err)
	}
	if h.total != uint64(len(frame)) {
		return nil, fmt.Errorf("decode frame: %w", corrupt("%d bytes, want %d", len(frame), h.total))
	}
	if err := checkSum(frame); err != nil {
		return nil, fmt.Errorf("decode frame: %w", err)
	}
	rec, err := d.read(mem, h, frame, whole)
	if err != nil {
		return nil, fmt.Errorf("decode frame: %w", err)
	}
	return rec, nil
}

// read decodes a frame whose header and checksum are right.
func (d *Decoder) read(mem memory.Allocator, h header, frame []byte, whole *memory.Buffer) (arrow.RecordBatch, error) {
	rec, err := d.guarded(mem, int64(h.raw)+int64(len(frame))+slack, func(list *messages, books memory.Allocator) error {
		return list.fill(d, books, h, frame, whole)
	})
	if err == nil && uint64(rec.NumRows()) != h.rows {
		rec.Release()
		return nil, corrupt("%d rows, want %d", rec.NumRows(), h.rows)
	}
	return rec, err
}

// guarded has Arrow's reader read the record of the messages that fill lists; it may take so many bytes. The reader drops references when it panics
// half way, so whatever it took is kept in a ledger and freed by hand then.
func (d *Decoder) guarded(mem memory.Allocator, most int64, fill func(*messages, memory.Allocator) error) (rec arrow.RecordBatch, err error) {
	books := &ledger{mem: mem, left: most}
	var list messages
	defer func() {
		v := recover()
		if v != nil {
			err = corrupt("%v", v)
			if e, ok := v.(error); ok && !isRuntimeError(e) { // the allocator's own: not about the bytes
				books.void()
				panic(v)
			}
		}
		list.close()
		if err != nil {
			books.void()
			rec = nil
		}
	}()
	if err := fill(&list, books); err != nil {
		return nil, err
	}
	r, err := ipc.NewReaderFromMessageReader(&list, ipc.WithAllocator(books))
	if err != nil {
		return nil, corrupt("%v", err)
	}
	defer r.Release()
	got, err := r.Read()
	if err != nil {
		return nil, corrupt("%v", err)
	}
	return d.accept(got)
}

// accept checks a decoded record and gives it the decoder's schema. got is borrowed.
func (d *Decoder) accept(got arrow.RecordBatch) (arrow.RecordBatch, error) {
	if int(got.NumCols()) != d.schema.NumFields() {
		return nil, corrupt("%d columns, want %d", got.NumCols(), d.schema.NumFields())
	}
	for i, f := range d.schema.Fields() {
		c := got.Column(i)
		if !arrow.TypeEqual(c.DataType(), f.Type) {
			return nil, corrupt("column %q is %s, want %s", f.Name, c.DataType(), f.Type)
		}
		if c.Len() != int(got.NumRows()) {
			return nil, corrupt("column %q has %d rows, want %d", f.Name, c.Len(), got.NumRows())
		}
		if err := validate(c.Data().(*array.Data), 0); err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	return array.NewRecordBatch(d.schema, got.Columns(), got.NumRows()), nil
}

func isRuntimeError(err error) bool {
	var re interface{ RuntimeError() }
	return errors.As(err, &re)
}

// messages feeds the sections of a frame to Arrow's reader, the schema first.
type messages struct {
	list []*ipc.Message
	next int
}

func (m *messages) fill(d *Decoder, mem memory.Allocator, h header, frame []byte, whole *memory.Buffer) error {
	m.list = append(m.list, newMessage(d.meta, nil))
	table := HeaderBytes + int(h.sections)*sectionBytes
	if table > len(frame) {
		return corrupt("a table of %d sections does not fit", h.sections)
	}
	secs := make([]section, h.sections)
	raw := uint64(0)
	for i := range secs {
		secs[i] = parseSection(frame[HeaderBytes+i*sectionBytes:])
		if secs[i].raw > h.raw || !plausible(h.compression, secs[i].raw, secs[i].stored) {
			return corrupt("section %d expands from %d to %d bytes", i, secs[i].stored, secs[i].raw)
		}
		raw += secs[i].raw
	}
	if raw != h.raw {
		return corrupt("bodies of %d bytes, want %d", raw, h.raw)
	}
	at := HeaderBytes + pad((1+dictionaries(d.schema.Fields()))*sectionBytes)
	for i, s := range secs {
		left := uint64(len(frame) - min(at, len(frame)))
		if uint64(s.meta) > left || s.stored > left || uint64(pad(int(s.meta)))+s.stored > left || s.meta < 8 {
			return corrupt("section %d does not fit", i)
		}
		meta := frame[at : at+int(s.meta)]
		at += pad(int(s.meta))
		body, err := bodyBuffer(mem, h.compression, s, frame, at, whole)
		if err != nil {
			return err
		}
		at += pad(int(s.stored))
		m.list = append(m.list, newMessage(append([]byte(nil), meta...), body))
		body.Release()
	}
	return nil
}

// bodyBuffer places the body of a section, which begins at the given place in frame, in memory of its own or views it in whole.
func bodyBuffer(mem memory.Allocator, c Compression, s section, frame []byte, at int, whole *memory.Buffer) (*memory.Buffer, error) {
	if whole != nil && c == None {
		return memory.SliceBuffer(whole, at, int(s.stored)), nil
	}
	buf := newBuffer(mem, int(s.raw))
	if err := expand(c, buf.Bytes(), frame[at:at+int(s.stored)]); err != nil {
		buf.Release()
		return nil, err
	}
	return buf, nil
}

// Message implements ipc.MessageReader.
func (m *messages) Message() (*ipc.Message, error) {
	if m.next == len(m.list) {
		return nil, io.EOF
	}
	m.next++
	return m.list[m.next-1], nil
}

// Retain implements ipc.MessageReader; the list belongs to the decoder.
func (*messages) Retain() {}

// Release implements ipc.MessageReader.
func (*messages) Release() {}

func (m *messages) close() {
	for _, msg := range m.list {
		msg.Release()
	}
	m.list = nil
}
