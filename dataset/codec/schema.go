package codec

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/codec/arrowmeta"
)

// EncodeSchema returns the IPC schema message (its metadata, without framing), from which DecodeSchema makes the schema again.
func EncodeSchema(schema *arrow.Schema) ([]byte, error) {
	var keep schemaKeeper
	w := ipc.NewWriterWithPayloadWriter(&keep, ipc.WithSchema(schema), ipc.WithAllocator(memory.NewGoAllocator()))
	if err := w.Close(); err != nil { // starts the stream, which is all of it
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return keep.meta, nil
}

// DecodeSchema reads what EncodeSchema wrote.
func DecodeSchema(p []byte) (schema *arrow.Schema, err error) {
	defer func() {
		if v := recover(); v != nil {
			schema, err = nil, corrupt("schema: %v", v)
		}
	}()
	if len(p) < 8 {
		return nil, corrupt("schema of %d bytes", len(p))
	}
	if err := arrowmeta.VerifySchema(p); err != nil {
		return nil, corrupt("%v", err)
	}
	r, err := ipc.NewReaderFromMessageReader(&messages{list: []*ipc.Message{newMessage(p, nil)}}, ipc.WithAllocator(memory.NewGoAllocator()))
	if err != nil {
		return nil, corrupt("schema: %v", err)
	}
	defer r.Release()
	return r.Schema(), nil
}

type schemaKeeper struct{ meta []byte }

func (*schemaKeeper) Start() error { return nil }
func (*schemaKeeper) Close() error { return nil }

func (k *schemaKeeper) WritePayload(p ipc.Payload) error {
	m := p.Meta()
	defer m.Release()
	if k.meta == nil {
		k.meta = append([]byte(nil), m.Bytes()...)
	}
	return nil
}

// newMessage makes a message of metadata, which it views, and of body, which it retains; nil means an empty body.
func newMessage(meta []byte, body *memory.Buffer) *ipc.Message {
	if body == nil {
		body = memory.NewBufferBytes(nil)
	}
	return ipc.NewMessage(memory.NewBufferBytes(meta), body)
}
