package media

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// TensorType is Arrow's canonical extension "arrow.fixed_shape_tensor": tensors of one shape on fixed-size lists of their values in
// row-major order.
type TensorType struct {
	arrow.ExtensionBase
	shape []int
	names []string
}

// TensorArray is the array of TensorType; Storage gives the fixed-size lists.
type TensorArray struct{ array.ExtensionArrayBase }

// NewTensorType makes a tensor type. names label the axes and may be nil.
func NewTensorType(value arrow.DataType, shape []int, names []string) *TensorType {
	n := 1
	for _, s := range shape {
		n *= s
	}
	storage := arrow.FixedSizeListOfNonNullable(int32(n), value)
	return &TensorType{arrow.ExtensionBase{Storage: storage}, shape, names}
}

type tensorMeta struct {
	Shape []int    `json:"shape"`
	Names []string `json:"dim_names,omitempty"`
}

// Shape returns the sizes of the axes.
func (t *TensorType) Shape() []int { return slices.Clone(t.shape) }

// ExtensionName implements arrow.ExtensionType.
func (*TensorType) ExtensionName() string { return "arrow.fixed_shape_tensor" }

// ArrayType implements arrow.ExtensionType.
func (*TensorType) ArrayType() reflect.Type { return reflect.TypeFor[TensorArray]() }

// Serialize implements arrow.ExtensionType: the metadata is JSON.
func (t *TensorType) Serialize() string {
	b, err := json.Marshal(tensorMeta{t.shape, t.names})
	if err != nil {
		return "{}" // plain numbers and strings always marshal
	}
	return string(b)
}

// Deserialize implements arrow.ExtensionType.
func (*TensorType) Deserialize(storage arrow.DataType, data string) (arrow.ExtensionType, error) {
	var m tensorMeta
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		return nil, fmt.Errorf("read arrow.fixed_shape_tensor: metadata: %w", err)
	}
	list, ok := storage.(*arrow.FixedSizeListType)
	n := 1
	for _, s := range m.Shape {
		if s < 0 || s > 0 && n > 1<<31/s {
			return nil, fmt.Errorf("read arrow.fixed_shape_tensor: shape %v is out of range", m.Shape)
		}
		n *= s
	}
	if !ok || int(list.Len()) != n {
		return nil, fmt.Errorf("read arrow.fixed_shape_tensor: storage %s does not hold shape %v", storage, m.Shape)
	}
	return &TensorType{arrow.ExtensionBase{Storage: storage}, m.Shape, m.Names}, nil
}

// ExtensionEquals implements arrow.ExtensionType.
func (t *TensorType) ExtensionEquals(o arrow.ExtensionType) bool {
	other, ok := o.(*TensorType)
	return ok && slices.Equal(t.shape, other.shape) && arrow.TypeEqual(t.Storage, other.Storage)
}

// String implements fmt.Stringer.
func (t *TensorType) String() string {
	return fmt.Sprintf("tensor<%s, %v>", t.Storage.(*arrow.FixedSizeListType).Elem(), t.shape)
}

func init() {
	if arrow.GetExtensionType("arrow.fixed_shape_tensor") == nil {
		if err := arrow.RegisterExtensionType(NewTensorType(arrow.PrimitiveTypes.Float32, []int{1}, nil)); err != nil {
			panic(fmt.Sprintf("media: register arrow.fixed_shape_tensor: %v", err)) // a second registration is an own bug
		}
	}
}
