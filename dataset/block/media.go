package block

import (
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// ImageType is the extension type "sluice.image": an encoded picture (JPEG, PNG, …) on binary storage.
type ImageType struct{ arrow.ExtensionBase }

// PixelsType is the extension type "sluice.pixels": a decoded picture on the storage of PixelsStorage. Data holds
// height*width*channels samples of dtype ("uint8"), row by row, channels interleaved.
type PixelsType struct{ arrow.ExtensionBase }

// PixelsStorage is the storage of PixelsType.
var PixelsStorage = arrow.StructOf(
	arrow.Field{Name: "data", Type: arrow.BinaryTypes.Binary, Nullable: true},
	arrow.Field{Name: "height", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	arrow.Field{Name: "width", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	arrow.Field{Name: "channels", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	arrow.Field{Name: "dtype", Type: arrow.BinaryTypes.String, Nullable: true},
	arrow.Field{Name: "profile", Type: arrow.BinaryTypes.Binary, Nullable: true},
)

// Image and Pixels are the registered instances of the media types.
var (
	Image  = &ImageType{arrow.ExtensionBase{Storage: arrow.BinaryTypes.Binary}}
	Pixels = &PixelsType{arrow.ExtensionBase{Storage: PixelsStorage}}
)

// ImageArray and PixelsArray are the arrays of the media types; Storage gives the columns.
type (
	ImageArray  struct{ array.ExtensionArrayBase }
	PixelsArray struct{ array.ExtensionArrayBase }
)

// ExtensionName implements arrow.ExtensionType.
func (*ImageType) ExtensionName() string { return "sluice.image" }

// ArrayType implements arrow.ExtensionType.
func (*ImageType) ArrayType() reflect.Type { return reflect.TypeFor[ImageArray]() }

// Serialize implements arrow.ExtensionType; the type has no parameters.
func (*ImageType) Serialize() string { return "" }

// Deserialize implements arrow.ExtensionType. Any binary storage is accepted, so that other writers' files read.
func (*ImageType) Deserialize(storage arrow.DataType, _ string) (arrow.ExtensionType, error) {
	if id := storage.ID(); id != arrow.BINARY && id != arrow.LARGE_BINARY {
		return nil, fmt.Errorf("read sluice.image: storage is %s, want binary", storage)
	}
	return &ImageType{arrow.ExtensionBase{Storage: storage}}, nil
}

// ExtensionEquals implements arrow.ExtensionType.
func (t *ImageType) ExtensionEquals(o arrow.ExtensionType) bool {
	_, ok := o.(*ImageType)
	return ok && arrow.TypeEqual(t.Storage, o.StorageType())
}

// String implements fmt.Stringer.
func (*ImageType) String() string { return "image" }

// ExtensionName implements arrow.ExtensionType.
func (*PixelsType) ExtensionName() string { return "sluice.pixels" }

// ArrayType implements arrow.ExtensionType.
func (*PixelsType) ArrayType() reflect.Type { return reflect.TypeFor[PixelsArray]() }

// Serialize implements arrow.ExtensionType; the type has no parameters.
func (*PixelsType) Serialize() string { return "" }

// Deserialize implements arrow.ExtensionType.
func (*PixelsType) Deserialize(storage arrow.DataType, _ string) (arrow.ExtensionType, error) {
	s, ok := storage.(*arrow.StructType)
	if !ok {
		return nil, fmt.Errorf("read sluice.pixels: storage is %s, want a struct", storage)
	}
	for _, want := range PixelsStorage.Fields()[:4] {
		if _, ok := s.FieldByName(want.Name); !ok {
			return nil, fmt.Errorf("read sluice.pixels: storage %s lacks field %q", storage, want.Name)
		}
	}
	return &PixelsType{arrow.ExtensionBase{Storage: storage}}, nil
}

// ExtensionEquals implements arrow.ExtensionType.
func (t *PixelsType) ExtensionEquals(o arrow.ExtensionType) bool {
	_, ok := o.(*PixelsType)
	return ok && arrow.TypeEqual(t.Storage, o.StorageType())
}

// String implements fmt.Stringer.
func (*PixelsType) String() string { return "pixels" }

func init() {
	for _, t := range []arrow.ExtensionType{Image, Pixels} {
		if err := arrow.RegisterExtensionType(t); err != nil {
			panic(fmt.Sprintf("block: register %s: %v", t.ExtensionName(), err)) //nolint // a second registration is an own bug
		}
	}
}
