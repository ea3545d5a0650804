package media

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// imageBuilder builds the image column of the output.
type imageBuilder interface {
	append(res *imaging.Result) error
	bytes() int64
	finish() arrow.Array
	release()
}

func newImageBuilder(mem memory.Allocator, t arrow.DataType, tensor *tensorStep, r room) imageBuilder {
	switch t := t.(type) {
	case *TensorType:
		return &tensorBuilder{step: tensor, typ: t, values: growing{mem: mem, room: r}, valid: growing{mem: mem}}
	case *block.ImageType:
		return &fileBuilder{typ: t, files: newBlobs(mem, room{})}
	default:
		return newPixelsBuilder(mem, r)
	}
}

// room is how much a column will hold at most: up to the row that reaches the target, and so many rows.
type room struct {
	target int64
	rows   int
}

// growing is a buffer that grows by doubling. With room, its first allocation is for as many pieces of the size of the first as there is
// room for, so that pictures of one size need a single allocation of the right size.
type growing struct {
	mem  memory.Allocator
	buf  *memory.Buffer
	n    int
	room room
}

// more returns the next n bytes, with undefined contents.
func (g *growing) more(n int) []byte {
	if g.buf == nil {
		g.buf = memory.NewResizableBuffer(g.mem)
	}
	if need := g.n + n; need > g.buf.Cap() {
		size := max(need, 2*g.buf.Cap())
		if g.n == 0 && n > 0 {
			size = n * max(1, min(int(g.room.target/int64(n))+1, g.room.rows))
		}
		g.buf.Reserve(size)
	}
	g.buf.ResizeNoShrink(g.n + n)
	g.n += n
	return g.buf.Bytes()[g.n-n : g.n]
}

// shrink forgets what is beyond the first n bytes.
func (g *growing) shrink(n int) {
	if n < g.n {
		g.n = n
		g.buf.ResizeNoShrink(n)
	}
}

// take hands the buffer over.
func (g *growing) take() *memory.Buffer {
	if g.buf == nil {
		g.buf = memory.NewResizableBuffer(g.mem)
	}
	b := g.buf
	g.buf, g.n = nil, 0
	return b
}

func (g *growing) release() {
	if g.buf != nil {
		g.buf.Release()
		g.buf = nil
	}
}

// blobs builds binary values; null ones are empty.
type blobs struct {
	data, offsets, valid growing
	rows, nulls          int
}

func newBlobs(mem memory.Allocator, r room) blobs {
	return blobs{data: growing{mem: mem, room: r}, offsets: growing{mem: mem}, valid: growing{mem: mem}}
}

// next starts a value of n bytes and returns where it goes.
func (b *blobs) next(n int, valid bool) ([]byte, error) {
	if b.data.n+n > math.MaxInt32 {
		return nil, fmt.Errorf("column: %d bytes do not fit a block of %d bytes, the limit is %d", n, b.data.n, math.MaxInt32)
	}
	if b.rows == 0 {
		clear(b.offsets.more(4))
	}
	dst := b.data.more(n)
	arrow.Int32Traits.CastFromBytes(b.offsets.more(4))[0] = int32(b.data.n)
	setValid(&b.valid, b.rows, valid)
	b.rows++
	if !valid {
		b.nulls++
	}
	return dst, nil
}

func setValid(g *growing, row int, valid bool) {
	if row%8 == 0 {
		g.more(1)[0] = 0
	}
	bitutil.SetBitTo(g.buf.Bytes(), row, valid)
}

// truncate takes back the values from n on.
func (b *blobs) truncate(n int) {
	if n >= b.rows {
		return
	}
	for row := n; row < b.rows; row++ {
		if !bitutil.BitIsSet(b.valid.buf.Bytes(), row) {
			b.nulls--
		}
	}
	b.data.shrink(int(arrow.Int32Traits.CastFromBytes(b.offsets.buf.Bytes())[n]))
	b.offsets.shrink(4 * (n + 1))
	b.valid.shrink((n + 7) / 8)
	b.rows = n
}

// finish makes the array's data of the given binary type.
func (b *blobs) finish(t arrow.DataType) arrow.ArrayData {
	if b.rows == 0 {
		clear(b.offsets.more(4))
	}
	bufs := []*memory.Buffer{b.valid.take(), b.offsets.take(), b.data.take()}
	d := array.NewData(t, b.rows, bufs, nil, b.nulls, 0)
	for _, x := range bufs {
		x.Release()
	}
	b.rows, b.nulls = 0, 0
	return d
}

func (b *blobs) release() {
	b.data.release()
	b.offsets.release()
	b.valid.release()
}

// fileBuilder builds a column of encoded pictures.
type fileBuilder struct {
	typ   *block.ImageType
	files blobs
}

func (f *fileBuilder) append(res *imaging.Result) error {
	if res == nil {
		_, err := f.files.next(0, false)
		return err
	}
	dst, err := f.files.next(len(res.Data), true)
	copy(dst, res.Data)
	return err
}

func (f *fileBuilder) bytes() int64 { return int64(f.files.data.n) }
func (f *fileBuilder) release()     { f.files.release() }

func (f *fileBuilder) finish() arrow.Array {
	d := f.files.finish(f.typ.StorageType())
	defer d.Release()
	storage := array.MakeFromData(d)
	defer storage.Release()
	return array.NewExtensionArrayWithStorage(f.typ, storage)
}

// tensorBuilder builds a column of tensors of one shape.
type tensorBuilder struct {
	step          *tensorStep
	typ           *TensorType
	values, valid growing
	rows, nulls   int
}

func (t *tensorBuilder) append(res *imaging.Result) error {
	n := int(t.typ.Storage.(*arrow.FixedSizeListType).Len())
	at := t.values.n
	dst := arrow.Float32Traits.CastFromBytes(t.values.more(4 * n))
	if res == nil {
		clear(dst)
		t.nulls++
	} else if err := t.step.fill(dst, res.Image); err != nil {
		t.values.n = at
		t.values.buf.ResizeNoShrink(at)
		return err
	}
	setValid(&t.valid, t.rows, res != nil)
	t.rows++
	return nil
}

func (t *tensorBuilder) bytes() int64 { return int64(t.values.n) }

func (t *tensorBuilder) release() {
	t.values.release()
	t.valid.release()
}

func (t *tensorBuilder) finish() arrow.Array {
	list := t.typ.Storage.(*arrow.FixedSizeListType)
	values, valid := t.values.take(), t.valid.take()
	child := array.NewData(list.Elem(), t.rows*int(list.Len()), []*memory.Buffer{nil, values}, nil, 0, 0)
	d := array.NewData(list, t.rows, []*memory.Buffer{valid}, []arrow.ArrayData{child}, t.nulls, 0)
	values.Release()
	valid.Release()
	child.Release()
	defer d.Release()
	storage := array.MakeFromData(d)
	defer storage.Release()
	return array.NewExtensionArrayWithStorage(t.typ, storage)
}
