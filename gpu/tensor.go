package gpu

import "fmt"

// DataType is the element type of a tensor, by the names of the open inference protocol.
type DataType string

// The element types.
const (
	Bool   DataType = "BOOL"
	Uint8  DataType = "UINT8"
	Uint16 DataType = "UINT16"
	Uint32 DataType = "UINT32"
	Uint64 DataType = "UINT64"
	Int8   DataType = "INT8"
	Int16  DataType = "INT16"
	Int32  DataType = "INT32"
	Int64  DataType = "INT64"
	FP16   DataType = "FP16"
	BF16   DataType = "BF16"
	FP32   DataType = "FP32"
	FP64   DataType = "FP64"
	Bytes  DataType = "BYTES"
)

// Size returns the bytes of one element, 0 for Bytes and unknown types.
func (t DataType) Size() int {
	switch t {
	case Bool, Uint8, Int8:
		return 1
	case Uint16, Int16, FP16, BF16:
		return 2
	case Uint32, Int32, FP32:
		return 4
	case Uint64, Int64, FP64:
		return 8
	}
	return 0
}

// Tensor is an array of numbers in row-major, little-endian order without padding, or, for type Bytes, of byte strings.
type Tensor struct {
	Name    string
	Type    DataType
	Shape   []int64
	Data    []byte   // of all types but Bytes: product(Shape) × Type.Size() bytes
	Strings [][]byte // of type Bytes: product(Shape) strings
}

// Len returns the number of elements that Shape promises; sizes must not be negative.
func (t *Tensor) Len() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Check says whether the data fits the shape.
func (t *Tensor) Check() error {
	for _, d := range t.Shape {
		if d < 0 {
			return fmt.Errorf("check tensor %s: negative size in shape %v", t.Name, t.Shape)
		}
	}
	if t.Type == Bytes {
		if int64(len(t.Strings)) != t.Len() {
			return fmt.Errorf("check tensor %s: %d strings for shape %v", t.Name, len(t.Strings), t.Shape)
		}
		return nil
	}
	if t.Type.Size() == 0 {
		return fmt.Errorf("check tensor %s: unknown element type %q", t.Name, t.Type)
	}
	if want := t.Len() * int64(t.Type.Size()); int64(len(t.Data)) != want {
		return fmt.Errorf("check tensor %s: %d bytes for %s%v, which takes %d", t.Name, len(t.Data), t.Type, t.Shape, want)
	}
	return nil
}
