package media

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// pixelsBuilder builds a column of sluice.pixels. Pixels are written once, from the worker's memory into the column's.
type pixelsBuilder struct {
	data                    blobs
	height, width, channels *array.Int32Builder
	dtype                   *array.StringBuilder
	profile                 *array.BinaryBuilder
	valid                   growing
	rows, nulls             int
}

func newPixelsBuilder(mem memory.Allocator, r room) *pixelsBuilder {
	return &pixelsBuilder{
		data:   newBlobs(mem, r),
		height: array.NewInt32Builder(mem), width: array.NewInt32Builder(mem), channels: array.NewInt32Builder(mem),
		dtype: array.NewStringBuilder(mem), profile: array.NewBinaryBuilder(mem, arrow.BinaryTypes.Binary),
		valid: growing{mem: mem},
	}
}

func (p *pixelsBuilder) append(res *imaging.Result) error {
	if res == nil {
		return p.appendNull()
	}
	m := res.Image
	dst, err := p.data.next(m.Bytes(), true)
	if err != nil {
		return err
	}
	if err := m.CopyPixels(dst); err != nil {
		return stopError{err} // the worker gave no packed pixels: our own mistake, not the row's
	}
	p.height.Append(int32(m.H))
	p.width.Append(int32(m.W))
	p.channels.Append(int32(m.Model.Channels()))
	if m.Depth == 16 {
		p.dtype.Append("uint16")
	} else {
		p.dtype.Append("uint8")
	}
	if len(m.Profile) > 0 {
		p.profile.Append(m.Profile)
	} else {
		p.profile.AppendNull()
	}
	setValid(&p.valid, p.rows, true)
	p.rows++
	return nil
}

func (p *pixelsBuilder) appendNull() error {
	if _, err := p.data.next(0, false); err != nil {
		return err
	}
	p.height.AppendNull()
	p.width.AppendNull()
	p.channels.AppendNull()
	p.dtype.AppendNull()
	p.profile.AppendNull()
	setValid(&p.valid, p.rows, false)
	p.rows++
	p.nulls++
	return nil
}

func (p *pixelsBuilder) bytes() int64 { return int64(p.data.data.n) }

func (p *pixelsBuilder) finish() arrow.Array {
	data := p.data.finish(arrow.BinaryTypes.Binary)
	kids := []arrow.ArrayData{data}
	for _, b := range []array.Builder{p.height, p.width, p.channels, p.dtype, p.profile} {
		a := b.NewArray()
		a.Data().Retain()
		kids = append(kids, a.Data())
		a.Release()
	}
	valid := p.valid.take()
	d := array.NewData(block.PixelsStorage, p.rows, []*memory.Buffer{valid}, kids, p.nulls, 0)
	valid.Release()
	for _, k := range kids {
		k.Release()
	}
	defer d.Release()
	storage := array.MakeFromData(d)
	defer storage.Release()
	return array.NewExtensionArrayWithStorage(block.Pixels, storage)
}

func (p *pixelsBuilder) release() {
	p.data.release()
	p.valid.release()
	for _, b := range []array.Builder{p.height, p.width, p.channels, p.dtype, p.profile} {
		b.Release()
	}
}
