package schema

import (
	"maps"

	"github.com/apache/arrow-go/v18/arrow"
)

// Tensors of one shape are stored as fixed-size binary: one value a tensor
// instead of a list of its numbers, which Parquet would give levels of its own.
// The field's metadata says what the bytes are. The name of Arrow's extension
// type is not used for that, because readers that know it insist on its list.
const (
	// TensorName is the extension type that is stored so.
	TensorName = "arrow.fixed_shape_tensor"
	// TensorKey holds the extension's own metadata (the shape), TensorValueKey
	// the name of the numbers' type.
	TensorKey      = "sluice.tensor"
	TensorValueKey = "sluice.tensor.value"
)

// tensorValues are the number types that tensors are stored with.
var tensorValues = map[string]arrow.FixedWidthDataType{
	"int8": arrow.PrimitiveTypes.Int8.(arrow.FixedWidthDataType), "int16": arrow.PrimitiveTypes.Int16.(arrow.FixedWidthDataType),
	"int32": arrow.PrimitiveTypes.Int32.(arrow.FixedWidthDataType), "int64": arrow.PrimitiveTypes.Int64.(arrow.FixedWidthDataType),
	"uint8": arrow.PrimitiveTypes.Uint8.(arrow.FixedWidthDataType), "uint16": arrow.PrimitiveTypes.Uint16.(arrow.FixedWidthDataType),
	"uint32": arrow.PrimitiveTypes.Uint32.(arrow.FixedWidthDataType), "uint64": arrow.PrimitiveTypes.Uint64.(arrow.FixedWidthDataType),
	"halffloat": arrow.FixedWidthTypes.Float16.(arrow.FixedWidthDataType),
	"float":     arrow.PrimitiveTypes.Float32.(arrow.FixedWidthDataType), "double": arrow.PrimitiveTypes.Float64.(arrow.FixedWidthDataType),
}

// StoredTensor returns the field that a tensor column is stored as; ok is false
// for any other column.
func StoredTensor(f arrow.Field) (stored arrow.Field, ok bool) {
	ext, ok := f.Type.(arrow.ExtensionType)
	if !ok || ext.ExtensionName() != TensorName {
		return f, false
	}
	list, ok := ext.StorageType().(*arrow.FixedSizeListType)
	if !ok {
		return f, false
	}
	names := map[string]string{"half_float": "halffloat", "float16": "halffloat", "float32": "float", "float64": "double"}
	name := list.Elem().Name()
	if n, ok := names[name]; ok {
		name = n
	}
	elem, ok := tensorValues[name]
	width := int64(list.Len())
	if !ok || width == 0 || width*int64(elem.Bytes()) > maxFixedLength {
		return f, false
	}
	md := map[string]string{}
	for k, v := range f.Metadata.ToMap() {
		md[k] = v
	}
	maps.Copy(md, map[string]string{TensorKey: ext.Serialize(), TensorValueKey: name})
	f.Metadata = arrow.MetadataFrom(md)
	f.Type = &arrow.FixedSizeBinaryType{ByteWidth: int(list.Len()) * elem.Bytes()}
	return f, true
}

// restoreTensor gives a stored tensor its type back, when the program knows
// the extension and the sizes agree.
func restoreTensor(f *Field) {
	fsb, ok := f.Storage.(*arrow.FixedSizeBinaryType)
	value, known := f.Arrow.Metadata.GetValue(TensorValueKey)
	if !ok || !known {
		return
	}
	elem, ok := tensorValues[value]
	shape, hasShape := f.Arrow.Metadata.GetValue(TensorKey)
	ext := arrow.GetExtensionType(TensorName)
	if !ok || !hasShape || ext == nil || fsb.ByteWidth%elem.Bytes() != 0 {
		return
	}
	t, err := ext.Deserialize(arrow.FixedSizeListOfNonNullable(int32(fsb.ByteWidth/elem.Bytes()), elem), shape)
	if err != nil {
		return
	}
	f.Arrow.Type = t
}
