package triton

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sluice-data/sluice/gpu"
)

// Field numbers of the protocol's messages; a test holds them against the generated ones.
const (
	fieldModelName    = 1 // ModelInferRequest
	fieldModelVersion = 2
	fieldID           = 3
	fieldParameters   = 4
	fieldInputs       = 5
	fieldOutputs      = 6
	fieldRawContents  = 7

	fieldTensorName       = 1 // InferInputTensor, InferRequestedOutputTensor
	fieldDatatype         = 2
	fieldShape            = 3
	fieldInputParameters  = 4
	fieldOutputParameters = 2

	fieldKey   = 1 // entries of maps
	fieldValue = 2

	fieldBool   = 1 // InferParameter
	fieldInt64  = 2
	fieldString = 3
)

// message is a ModelInferRequest that is written field by field: a request that names places in shared memory is a few hundred bytes, and building the
// generated message for them and encoding that through reflection cost many times as much. The zero value is empty.
type message struct {
	head []byte   // all fields but the raw contents
	raw  [][]byte // views of inputs that go inline, in their order
}

// size returns how many bytes the message takes.
func (m *message) size() int {
	n := len(m.head)
	for _, b := range m.raw {
		n += protowire.SizeTag(fieldRawContents) + protowire.SizeBytes(len(b))
	}
	return n
}

// bytes encodes the message; nothing of the raw contents is read later.
func (m *message) bytes() []byte {
	if len(m.raw) == 0 {
		return m.head
	}
	out := append(make([]byte, 0, m.size()), m.head...)
	for _, b := range m.raw {
		out = protowire.AppendBytes(protowire.AppendTag(out, fieldRawContents, protowire.BytesType), b)
	}
	return out
}

// text adds a string of the message itself.
func (m *message) text(field protowire.Number, s string) { m.head = appendText(m.head, field, s) }

// parameter adds a parameter of the request, a bool, int64 or string.
func (m *message) parameter(key string, value any) {
	m.head = appendParameter(m.head, fieldParameters, key, value)
}

// input adds an input; at, where it is not nil, is its place in shared memory.
func (m *message) input(t *gpu.Tensor, at *sharedRegion) {
	m.head = appendNested(m.head, fieldInputs, func(b []byte) []byte {
		b = appendText(appendText(b, fieldTensorName, t.Name), fieldDatatype, string(t.Type))
		if len(t.Shape) > 0 {
			b = appendNested(b, fieldShape, func(b []byte) []byte {
				for _, n := range t.Shape {
					b = protowire.AppendVarint(b, uint64(n))
				}
				return b
			})
		}
		return appendRegion(b, fieldInputParameters, at)
	})
}

// output asks for an output; at, where it is not nil, is where the server puts it.
func (m *message) output(name string, at *sharedRegion) {
	m.head = appendNested(m.head, fieldOutputs, func(b []byte) []byte {
		return appendRegion(appendText(b, fieldTensorName, name), fieldOutputParameters, at)
	})
}

func appendRegion(b []byte, field protowire.Number, at *sharedRegion) []byte {
	if at == nil {
		return b
	}
	b = appendParameter(b, field, paramRegion, at.name)
	b = appendParameter(b, field, paramSize, at.len)
	if at.offset != 0 {
		b = appendParameter(b, field, paramOffset, at.offset)
	}
	return b
}

// appendParameter adds an entry of a map of InferParameter.
func appendParameter(b []byte, field protowire.Number, key string, value any) []byte {
	return appendNested(b, field, func(b []byte) []byte {
		return appendNested(appendText(b, fieldKey, key), fieldValue, func(b []byte) []byte {
			switch v := value.(type) {
			case bool:
				return protowire.AppendVarint(protowire.AppendTag(b, fieldBool, protowire.VarintType), protowire.EncodeBool(v))
			case int64:
				return protowire.AppendVarint(protowire.AppendTag(b, fieldInt64, protowire.VarintType), uint64(v))
			case string: // an empty one is a value too
				return protowire.AppendString(protowire.AppendTag(b, fieldString, protowire.BytesType), v)
			}
			return b
		})
	})
}

// appendText adds a string; an empty one is the default and is left out.
func appendText(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// appendNested adds a message whose length is known once fill has written it.
func appendNested(b []byte, field protowire.Number, fill func([]byte) []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	at := len(b)
	b = fill(append(b, 0)) // most lengths take one byte
	n := uint64(len(b) - at - 1)
	if more := protowire.SizeVarint(n) - 1; more > 0 {
		b = append(b, make([]byte, more)...)
		copy(b[at+1+more:], b[at+1:])
	}
	protowire.AppendVarint(b[:at], n)
	return b
}
