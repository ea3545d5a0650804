package triton

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

// read makes tensors of an answer. Each output is in its slot, in the raw contents, which have an entry for every output when there are any, or typed in
// the tensor itself. The tensors view the message and the slots.
func (m *Model) read(d *details, r *pb.ModelInferResponse, slots map[string][]byte) ([]gpu.Tensor, error) {
	if n := len(r.RawOutputContents); n != 0 && n != len(r.Outputs) {
		return nil, fmt.Errorf("read answer of model %s: %d raw contents for %d outputs", m.name, n, len(r.Outputs))
	}
	out := make([]gpu.Tensor, 0, len(r.Outputs))
	for i, o := range r.Outputs {
		t := gpu.Tensor{Name: o.Name, Type: gpu.DataType(o.Datatype), Shape: o.Shape}
		if err := m.expected(d, &t); err != nil {
			return nil, fmt.Errorf("read answer of model %s: %w", m.name, err)
		}
		n, err := count(t.Shape)
		if err == nil {
			err = fillTensor(&t, o, n, rawOf(r, i), slots[o.Name])
		}
		if err != nil {
			return nil, fmt.Errorf("read answer of model %s: output %s, %s%v: %w", m.name, o.Name, o.Datatype, o.Shape, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// expected refuses an output that the model does not have, or of another type than it has.
func (m *Model) expected(d *details, t *gpu.Tensor) error {
	for _, x := range d.info.Outputs {
		if x.Name == t.Name && x.Type != t.Type {
			return fmt.Errorf("output %s is %s, the model gives %s", t.Name, t.Type, x.Type)
		}
		if x.Name == t.Name {
			return nil
		}
	}
	if t.Type != gpu.Bytes && t.Type.Size() == 0 {
		return fmt.Errorf("output %s is of the unknown type %q", t.Name, t.Type)
	}
	return nil
}

// count multiplies a shape from outside.
func count(shape []int64) (int64, error) {
	n := int64(1)
	for _, x := range shape {
		if x < 0 || x > 0 && n > math.MaxInt32*8/x {
			return 0, fmt.Errorf("shape %v is impossible", shape)
		}
		n *= x
	}
	return n, nil
}

func rawOf(r *pb.ModelInferResponse, i int) []byte {
	if i < len(r.RawOutputContents) {
		return r.RawOutputContents[i]
	}
	return nil
}

// fillTensor finds the contents of an output of n elements.
func fillTensor(t *gpu.Tensor, o *pb.ModelInferResponse_InferOutputTensor, n int64, raw, slot []byte) error {
	switch used := o.Parameters[paramRegion] != nil; {
	case slot != nil && len(raw) == 0 && o.Contents == nil: // Triton says nothing more about what it wrote there
		want := n * int64(t.Type.Size())
		if want > int64(len(slot)) {
			return fmt.Errorf("%d bytes in a slot of %d", want, len(slot))
		}
		raw = slot[:want]
	case used:
		return fmt.Errorf("it is in shared memory that was not asked for")
	case o.Contents != nil && len(raw) == 0:
		return fromContents(t, o.Contents, n)
	}
	if t.Type == gpu.Bytes {
		list, err := gpu.UnpackStrings(raw, n)
		t.Strings = list
		return err
	}
	if want := n * int64(t.Type.Size()); int64(len(raw)) != want {
		return fmt.Errorf("%d bytes, want %d", len(raw), want)
	}
	t.Data = raw
	return nil
}

// fromContents packs typed contents.
func fromContents(t *gpu.Tensor, c *pb.InferTensorContents, n int64) error {
	have, le := 0, binary.LittleEndian
	switch t.Type {
	case gpu.Bytes:
		t.Strings, have = c.BytesContents, len(c.BytesContents)
	case gpu.Bool:
		have = len(c.BoolContents)
		for _, v := range c.BoolContents {
			t.Data = append(t.Data, byte(b2i(v)))
		}
	case gpu.Int8, gpu.Int16, gpu.Int32:
		have = len(c.IntContents)
		for _, v := range c.IntContents {
			t.Data = appendUint(t.Data, uint64(v), t.Type.Size())
		}
	case gpu.Uint8, gpu.Uint16, gpu.Uint32:
		have = len(c.UintContents)
		for _, v := range c.UintContents {
			t.Data = appendUint(t.Data, uint64(v), t.Type.Size())
		}
	case gpu.Int64:
		have = len(c.Int64Contents)
		for _, v := range c.Int64Contents {
			t.Data = le.AppendUint64(t.Data, uint64(v))
		}
	case gpu.Uint64:
		have = len(c.Uint64Contents)
		for _, v := range c.Uint64Contents {
			t.Data = le.AppendUint64(t.Data, v)
		}
	case gpu.FP32:
		have = len(c.Fp32Contents)
		for _, v := range c.Fp32Contents {
			t.Data = le.AppendUint32(t.Data, math.Float32bits(v))
		}
	case gpu.FP64:
		have = len(c.Fp64Contents)
		for _, v := range c.Fp64Contents {
			t.Data = le.AppendUint64(t.Data, math.Float64bits(v))
		}
	default:
		return fmt.Errorf("typed contents cannot hold it")
	}
	if int64(have) != n {
		return fmt.Errorf("%d elements, want %d", have, n)
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// appendUint appends the lowest bytes of v.
func appendUint(dst []byte, v uint64, size int) []byte {
	for i := range size {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst
}
