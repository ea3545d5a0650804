package triton

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that this one stands in front of
	"google.golang.org/grpc/mem"
)

// encoded is a message that is bytes already. gRPC encodes on whatever goroutine runs the call; a request's inputs may be gone by then.
type encoded []byte

// codec sends messages of type encoded as they are and leaves the rest to the codec of protocol buffers.
type codec struct{}

var (
	_          encoding.CodecV2 = codec{}
	protoCodec                  = encoding.GetCodecV2("proto")
)

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	raw, ok := v.(encoded)
	if !ok {
		return nil, fmt.Errorf("marshal %T: it is not encoded", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error { return protoCodec.Unmarshal(data, v) }

// Name implements encoding.CodecV2.
func (codec) Name() string { return "proto" }
