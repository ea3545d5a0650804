package prep

import (
	"unsafe"

	"github.com/sluice-data/sluice/gpu"
)

// asFloats views bytes of a FP32 tensor as floats, where they lie for it. Tensors are little-endian, as are the machines that this engine runs on.
func asFloats(b []byte, t gpu.DataType) ([]float32, bool) {
	if t != gpu.FP32 || len(b) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%4 != 0 {
		return nil, false
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4), true
}
