package parquet

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// tensorType stands for the engine's tensor type, which connectors know by its
// name alone: 2 by 3 floats.
type tensorType struct{ arrow.ExtensionBase }

type tensorArray struct{ array.ExtensionArrayBase }

func newTensorType() *tensorType {
	return &tensorType{arrow.ExtensionBase{Storage: arrow.FixedSizeListOfNonNullable(6, arrow.PrimitiveTypes.Float32)}}
}

func (*tensorType) ExtensionName() string   { return "arrow.fixed_shape_tensor" }
func (*tensorType) ArrayType() reflect.Type { return reflect.TypeFor[tensorArray]() }
func (*tensorType) Serialize() string       { return `{"shape":[2,3]}` }
func (*tensorType) String() string          { return "tensor" }

func (*tensorType) Deserialize(storage arrow.DataType, data string) (arrow.ExtensionType, error) {
	if l, ok := storage.(*arrow.FixedSizeListType); !ok || l.Len() != 6 || data != `{"shape":[2,3]}` {
		return nil, fmt.Errorf("storage %s, metadata %s", storage, data)
	}
	return &tensorType{arrow.ExtensionBase{Storage: storage}}, nil
}

func (t *tensorType) ExtensionEquals(o arrow.ExtensionType) bool {
	return o.ExtensionName() == t.ExtensionName() && arrow.TypeEqual(o.StorageType(), t.Storage)
}

func init() {
	if err := arrow.RegisterExtensionType(newTensorType()); err != nil {
		panic(err)
	}
}

// mediaBatch has one column of each media type.
func mediaBatch(t testing.TB) arrow.RecordBatch {
	mem := memory.NewGoAllocator()
	image := array.NewExtensionBuilder(mem, block.Image)
	pixels := array.NewExtensionBuilder(mem, block.Pixels)
	tensorType := newTensorType()
	tensor := array.NewExtensionBuilder(mem, tensorType)
	for i := range 5 {
		if i == 3 {
			image.AppendNull()
			pixels.AppendNull()
			tensor.AppendNull()
			continue
		}
		image.StorageBuilder().(*array.BinaryBuilder).Append([]byte{0xFF, 0xD8, byte(i)})
		p := pixels.StorageBuilder().(*array.StructBuilder)
		p.Append(true)
		p.FieldBuilder(0).(*array.BinaryBuilder).Append(make([]byte, 3*i))
		for f, v := range []int{1, i, 3} {
			p.FieldBuilder(f + 1).(*array.Int32Builder).Append(int32(v))
		}
		p.FieldBuilder(4).(*array.StringBuilder).Append("uint8")
		p.FieldBuilder(5).AppendNull()
		l := tensor.StorageBuilder().(*array.FixedSizeListBuilder)
		l.Append(true)
		for j := range 6 {
			l.ValueBuilder().(*array.Float32Builder).Append(float32(i*10 + j))
		}
	}
	s := arrow.NewSchema([]arrow.Field{
		{Name: "image", Type: block.Image, Nullable: true}, {Name: "pixels", Type: block.Pixels, Nullable: true}, {Name: "tensor", Type: tensorType, Nullable: true},
	}, nil)
	return array.NewRecordBatch(s, []arrow.Array{image.NewArray(), pixels.NewArray(), tensor.NewArray()}, 5)
}

func TestMediaTypes(t *testing.T) {
	b := mediaBatch(t)
	for _, opts := range []WriteOptions{{}, {TensorLists: true}} {
		file := ourWrite(t, b, opts, 2)
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		got, err := readAll(file, ReadOptions{Allocator: mem, BatchRows: 4})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range b.Schema().Fields() {
			if f := got.Schema().Field(i); !arrow.TypeEqual(f.Type, want.Type) {
				t.Errorf("column %q came back as %s, want %s", want.Name, f.Type, want.Type)
			}
			c := got.Column(i).Data()
			at := int64(0)
			for _, chunk := range c.Chunks() {
				part := array.NewSlice(b.Column(i), at, at+int64(chunk.Len()))
				if !array.Equal(part, chunk) {
					t.Errorf("column %q: got %v, want %v", want.Name, chunk, part)
				}
				part.Release()
				at += int64(chunk.Len())
			}
		}
		got.Release()
		mem.AssertSize(t, 0)
	}
}
