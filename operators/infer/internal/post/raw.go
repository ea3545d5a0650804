package post

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/media"
)

// Raw is a tensor as it is. A number a row gives a column of numbers, a vector a fixed-size list, more dimensions a fixed-shape tensor; a
// vector of any length gives a list, and other shapes that vary a struct of shape and data. FP16 and BF16 become float32, BYTES binary.
type Raw struct {
	Column, Tensor string
	// Type and Shape of a row, if they are known without the model.
	Type  gpu.DataType
	Shape []int64
	// Normalize scales vectors to length 1.
	Normalize bool
	// Apply is done to the numbers of a row: softmax, sigmoid, or nothing.
	Apply string
	// Text says that BYTES are UTF-8.
	Text bool
}

// Tensors implements Output.
func (r *Raw) Tensors() []string { return []string{r.Tensor} }

// Field implements Output.
func (r *Raw) Field(about About) (arrow.Field, error) {
	t, shape := r.Type, r.Shape
	if t == "" {
		m, err := about()
		if err != nil {
			return arrow.Field{}, err
		}
		o, err := m.output(r.Tensor)
		if err != nil {
			return arrow.Field{}, err
		}
		t, shape = o.Type, m.row(o)
	}
	s, err := r.storage(t, shape)
	if err != nil {
		return arrow.Field{}, err
	}
	return arrow.Field{Name: r.Column, Type: s.column, Nullable: true}, nil
}

// form is how rows of a tensor are stored.
type form int

const (
	scalars form = iota
	vectors
	tensors
	lists
	shapes
)

// storage is the column type for rows of a type and shape.
type storage struct {
	form   form
	elem   arrow.DataType
	column arrow.DataType
	row    []int64
	n      int // elements a row, where fixed
}

// maxElements bounds a fixed row: 4 GiB of float32.
const maxElements = 1 << 30

func (r *Raw) storage(t gpu.DataType, row []int64) (storage, error) {
	elem, err := elementType(t, r.Text)
	if err != nil {
		return storage{}, err
	}
	s := storage{elem: elem, row: row, n: 1}
	free := slices.ContainsFunc(row, func(d int64) bool { return d < 0 })
	for _, d := range row {
		if d > 0 && s.n > maxElements/int(d) {
			return storage{}, fmt.Errorf("output %q has shape %v a row, more than %d values", r.Tensor, row, maxElements)
		}
		s.n *= max(int(d), 0)
	}
	switch {
	case free && len(row) == 1:
		s.form, s.column = lists, arrow.ListOfNonNullable(elem)
	case free || t == gpu.Bytes && len(row) > 1:
		s.form = shapes
		s.column = arrow.StructOf(arrow.Field{Name: "shape", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int64), Nullable: true},
			arrow.Field{Name: "data", Type: arrow.ListOfNonNullable(elem), Nullable: true})
	case len(row) == 0 || len(row) == 1 && row[0] == 1:
		s.form, s.column = scalars, elem
	case len(row) == 1:
		s.form, s.column = vectors, arrow.FixedSizeListOfNonNullable(int32(row[0]), elem)
	default:
		dims := make([]int, len(row))
		for i, d := range row {
			dims[i] = int(d)
		}
		s.form, s.column = tensors, media.NewTensorType(elem, dims, nil)
	}
	return s, nil
}

func elementType(t gpu.DataType, text bool) (arrow.DataType, error) {
	switch t {
	case gpu.Bool:
		return arrow.FixedWidthTypes.Boolean, nil
	case gpu.Int8:
		return arrow.PrimitiveTypes.Int8, nil
	case gpu.Int16:
		return arrow.PrimitiveTypes.Int16, nil
	case gpu.Int32:
		return arrow.PrimitiveTypes.Int32, nil
	case gpu.Int64:
		return arrow.PrimitiveTypes.Int64, nil
	case gpu.Uint8:
		return arrow.PrimitiveTypes.Uint8, nil
	case gpu.Uint16:
		return arrow.PrimitiveTypes.Uint16, nil
	case gpu.Uint32:
		return arrow.PrimitiveTypes.Uint32, nil
	case gpu.Uint64:
		return arrow.PrimitiveTypes.Uint64, nil
	case gpu.FP16, gpu.BF16, gpu.FP32:
		return arrow.PrimitiveTypes.Float32, nil
	case gpu.FP64:
		return arrow.PrimitiveTypes.Float64, nil
	case gpu.Bytes:
		if text {
			return arrow.BinaryTypes.String, nil
		}
		return arrow.BinaryTypes.Binary, nil
	}
	return nil, fmt.Errorf("the model answers %q, which no column holds", t)
}

// Bind implements Output.
func (r *Raw) Bind(m *Model) (Bound, error) {
	o, err := m.output(r.Tensor)
	if err != nil {
		return nil, err
	}
	t, shape := r.Type, r.Shape
	if t == "" {
		t, shape = o.Type, m.row(o)
	}
	if (r.Apply != "" || r.Normalize) && o.Type != gpu.FP16 && o.Type != gpu.BF16 && o.Type != gpu.FP32 && o.Type != gpu.FP64 {
		return nil, fmt.Errorf("output %q of the model is %s, and the card treats it as fractions", o.Name, o.Type)
	}
	if have, _ := elementType(o.Type, r.Text); !sameType(have, t, r.Text) {
		return nil, fmt.Errorf("output %q of the model is %s; %s was declared", r.Tensor, o.Type, t)
	}
	s, err := r.storage(t, shape)
	if err != nil {
		return nil, err
	}
	return &rawBound{r, s}, nil
}

func sameType(have arrow.DataType, want gpu.DataType, text bool) bool {
	w, err := elementType(want, text)
	return err == nil && have != nil && arrow.TypeEqual(have, w)
}

type rawBound struct {
	*Raw
	storage
}

// Builder implements Bound.
func (b *rawBound) Builder(mem memory.Allocator, rows int) Builder {
	r := &rawBuilder{rawBound: b, mem: mem, offsets: []int32{0}}
	if b.elem.ID() == arrow.STRING || b.elem.ID() == arrow.BINARY {
		if b.elem.ID() == arrow.STRING {
			r.blobs = stringBlobs{array.NewStringBuilder(mem)}
		} else {
			r.blobs = array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary)
		}
		return r
	}
	r.values = memory.NewResizableBuffer(mem)
	if b.form <= tensors {
		r.values.Reserve(rows * b.n * r.width())
	}
	return r
}

type blobBuilder interface {
	array.Builder
	Append([]byte)
}

type stringBlobs struct{ *array.StringBuilder }

func (s stringBlobs) Append(p []byte) { s.StringBuilder.Append(string(p)) }

type rawBuilder struct {
	*rawBound
	mem     memory.Allocator
	rows    int
	count   int // elements
	values  *memory.Buffer
	blobs   blobBuilder
	offsets []int32
	shapes  []int64
}

// width is the bytes of an element as gathered; booleans are packed in the end.
func (b *rawBuilder) width() int {
	if b.elem.ID() == arrow.BOOL {
		return 1
	}
	return b.elem.(arrow.FixedWidthDataType).BitWidth() / 8
}

// Append implements Builder.
func (b *rawBuilder) Append(v []View, _ media.Geometry) error {
	n := v[0].Len()
	if have, err := elementType(v[0].Type, b.Text); err != nil || !arrow.TypeEqual(have, b.elem) {
		return fmt.Errorf("output %q came as %s, not as the model's description says", b.Tensor, v[0].Type)
	}
	if len(v[0].Shape) != len(b.row) || !slices.EqualFunc(b.row, v[0].Shape, func(w, h int64) bool { return w < 0 || w == h }) {
		return fmt.Errorf("output %q came with shape %v a row, and %v was declared", b.Tensor, v[0].Shape, b.row)
	}
	if b.count+n > math.MaxInt32 {
		return fmt.Errorf("output %q: %d values in one batch do not fit a column; use a smaller batch", b.Tensor, b.count+n)
	}
	if b.blobs != nil {
		for _, s := range v[0].Strings {
			b.blobs.Append(s)
		}
	} else {
		b.appendNumbers(&v[0], n)
	}
	b.count += n
	b.rows++
	b.offsets = append(b.offsets, int32(b.count))
	b.shapes = append(b.shapes, v[0].Shape...)
	return nil
}

func (b *rawBuilder) appendNumbers(v *View, n int) {
	at, w := b.values.Len(), b.width()
	b.values.Resize(at + n*w)
	dst := b.values.Bytes()[at:]
	switch {
	case v.Type == gpu.FP16 || v.Type == gpu.BF16:
		for i := range n {
			_ = gpu.PutFloat(dst, gpu.FP32, i, gpu.Float(v.Data, v.Type, i)) // floats hold floats
		}
	default:
		copy(dst, v.Data)
	}
	if b.Normalize || b.Apply != "" {
		t := gpu.FP32
		if b.elem.ID() == arrow.FLOAT64 {
			t = gpu.FP64
		}
		activate(b.Apply, dst, t, n)
		if b.Normalize {
			normalize(dst, t, n)
		}
	}
}

// activate applies a function to numbers in place.
func activate(apply string, data []byte, t gpu.DataType, n int) {
	switch apply {
	case Sigmoid:
		for i := range n {
			_ = gpu.PutFloat(data, t, i, 1/(1+math.Exp(-gpu.Float(data, t, i))))
		}
	case Softmax:
		most, sum := math.Inf(-1), 0.0
		for i := range n {
			most = max(most, gpu.Float(data, t, i))
		}
		for i := range n {
			sum += math.Exp(gpu.Float(data, t, i) - most)
		}
		for i := range n {
			_ = gpu.PutFloat(data, t, i, math.Exp(gpu.Float(data, t, i)-most)/sum)
		}
	}
}

// normalize scales a vector to length 1; the zero vector stays.
func normalize(data []byte, t gpu.DataType, n int) {
	sum := 0.0
	for i := range n {
		x := gpu.Float(data, t, i)
		sum += x * x
	}
	if sum == 0 {
		return
	}
	scale := 1 / math.Sqrt(sum)
	for i := range n {
		_ = gpu.PutFloat(data, t, i, gpu.Float(data, t, i)*scale)
	}
}

// NewArray implements Builder.
func (b *rawBuilder) NewArray() arrow.Array {
	elems := b.elements()
	defer elems.Release()
	var d arrow.ArrayData
	switch b.form {
	case scalars:
		return array.MakeFromData(elems)
	case vectors:
		d = array.NewData(b.column, b.rows, []*memory.Buffer{nil}, []arrow.ArrayData{elems}, 0, 0)
	case tensors:
		storage := b.column.(arrow.ExtensionType).StorageType()
		d = array.NewData(storage, b.rows, []*memory.Buffer{nil}, []arrow.ArrayData{elems}, 0, 0)
		defer d.Release()
		s := array.MakeFromData(d)
		defer s.Release()
		return array.NewExtensionArrayWithStorage(b.column.(arrow.ExtensionType), s)
	case lists:
		d = b.list(b.column, b.offsets, elems)
	default:
		d = b.struc(elems)
	}
	defer d.Release()
	return array.MakeFromData(d)
}

// list makes lists of elements that end at the offsets.
func (b *rawBuilder) list(t arrow.DataType, offsets []int32, elems arrow.ArrayData) arrow.ArrayData {
	o := memory.NewResizableBuffer(b.mem)
	defer o.Release()
	o.Resize(4 * len(offsets))
	copy(arrow.Int32Traits.CastFromBytes(o.Bytes()), offsets)
	return array.NewData(t, len(offsets)-1, []*memory.Buffer{nil, o}, []arrow.ArrayData{elems}, 0, 0)
}

func (b *rawBuilder) struc(elems arrow.ArrayData) arrow.ArrayData {
	t := b.column.(*arrow.StructType)
	dims := memory.NewResizableBuffer(b.mem)
	defer dims.Release()
	dims.Resize(8 * len(b.shapes))
	copy(arrow.Int64Traits.CastFromBytes(dims.Bytes()), b.shapes)
	nums := array.NewData(arrow.PrimitiveTypes.Int64, len(b.shapes), []*memory.Buffer{nil, dims}, nil, 0, 0)
	defer nums.Release()
	rank := make([]int32, b.rows+1)
	for i := range rank {
		rank[i] = int32(i * len(b.row))
	}
	shape := b.list(t.Field(0).Type, rank, nums)
	defer shape.Release()
	data := b.list(t.Field(1).Type, b.offsets, elems)
	defer data.Release()
	return array.NewData(t, b.rows, []*memory.Buffer{nil}, []arrow.ArrayData{shape, data}, 0, 0)
}

// elements makes the array of all elements.
func (b *rawBuilder) elements() arrow.ArrayData {
	if b.blobs != nil {
		a := b.blobs.NewArray()
		defer a.Release()
		a.Data().Retain()
		return a.Data()
	}
	buf := b.values
	b.values = nil
	defer buf.Release()
	if b.elem.ID() == arrow.BOOL {
		bits := memory.NewResizableBuffer(b.mem)
		defer bits.Release()
		bits.Resize((b.count + 7) / 8)
		clear(bits.Bytes())
		for i, x := range buf.Bytes()[:b.count] {
			bitutil.SetBitTo(bits.Bytes(), i, x != 0)
		}
		return array.NewData(b.elem, b.count, []*memory.Buffer{nil, bits}, nil, 0, 0)
	}
	return array.NewData(b.elem, b.count, []*memory.Buffer{nil, buf}, nil, 0, 0)
}

// Release implements Builder.
func (b *rawBuilder) Release() {
	if b.values != nil {
		b.values.Release()
		b.values = nil
	}
	if b.blobs != nil {
		b.blobs.Release()
		b.blobs = nil
	}
}
