//go:build onnx && cgo

package onnx

import (
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/sluice-data/sluice/gpu"
)

// types are the element types of the library.
var types = map[ort.TensorElementDataType]gpu.DataType{
	ort.TensorElementDataTypeFloat: gpu.FP32, ort.TensorElementDataTypeDouble: gpu.FP64, ort.TensorElementDataTypeFloat16: gpu.FP16,
	ort.TensorElementDataTypeBFloat16: gpu.BF16, ort.TensorElementDataTypeInt8: gpu.Int8, ort.TensorElementDataTypeInt16: gpu.Int16,
	ort.TensorElementDataTypeInt32: gpu.Int32, ort.TensorElementDataTypeInt64: gpu.Int64, ort.TensorElementDataTypeUint8: gpu.Uint8,
	ort.TensorElementDataTypeUint16: gpu.Uint16, ort.TensorElementDataTypeUint32: gpu.Uint32, ort.TensorElementDataTypeUint64: gpu.Uint64,
	ort.TensorElementDataTypeBool: gpu.Bool, ort.TensorElementDataTypeString: gpu.Bytes,
}

// elements is types the other way round.
var elements = func() map[gpu.DataType]ort.TensorElementDataType {
	m := make(map[gpu.DataType]ort.TensorElementDataType, len(types))
	for k, v := range types {
		m[v] = k
	}
	return m
}()

// bytesOf views the elements of a value; nil for values that are no array of numbers. Empty arrays give an empty view.
func bytesOf(v ort.Value) []byte {
	switch v := v.(type) {
	case *ort.CustomDataTensor:
		return v.GetData()
	case *ort.Tensor[float32]:
		return view(v.GetData())
	case *ort.Tensor[float64]:
		return view(v.GetData())
	case *ort.Tensor[int8]:
		return view(v.GetData())
	case *ort.Tensor[int16]:
		return view(v.GetData())
	case *ort.Tensor[int32]:
		return view(v.GetData())
	case *ort.Tensor[int64]:
		return view(v.GetData())
	case *ort.Tensor[uint8]:
		return view(v.GetData())
	case *ort.Tensor[uint16]:
		return view(v.GetData())
	case *ort.Tensor[uint32]:
		return view(v.GetData())
	case *ort.Tensor[uint64]:
		return view(v.GetData())
	case *ort.Tensor[bool]:
		return view(v.GetData())
	}
	return nil
}

func view[T any](s []T) []byte {
	if len(s) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}
