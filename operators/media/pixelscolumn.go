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
	mem   memory.Allocator
	data  blobs
	valid growing
	meta  []pixelsMeta // of each row
}

// pixelsMeta is what is known of a picture beside its pixels; of a null one, nothing. The profile aliases the file.
type pixelsMeta struct {
	height, width, channels int32
	wide, valid             bool
	profile                 []byte
}

func newPixelsBuilder(mem memory.Allocator, r room) *pixelsBuilder {
	return &pixelsBuilder{mem: mem, data: newBlobs(mem, r), valid: growing{mem: mem}}
}

func (p *pixelsBuilder) rows() int { return len(p.meta) }

func (p *pixelsBuilder) append(res *imaging.Result) error {
	if res == nil {
		if _, err := p.data.next(0, false); err != nil {
			return err
		}
		p.add(pixelsMeta{})
		return nil
	}
	m := res.Image
	dst, err := p.data.next(m.Bytes(), true)
	if err != nil {
		return err
	}
	if err := m.CopyPixels(dst); err != nil {
		return stopError{err} // the worker gave no packed pixels: our own mistake, not the row's
	}
	p.add(pixelsMeta{int32(m.H), int32(m.W), int32(m.Model.Channels()), m.Depth == 16, true, m.Profile})
	return nil
}

func (p *pixelsBuilder) add(m pixelsMeta) {
	setValid(&p.valid, len(p.meta), m.valid)
	p.meta = append(p.meta, m)
}

// truncate takes back the rows from n on.
func (p *pixelsBuilder) truncate(n int) {
	if n < len(p.meta) {
		p.data.truncate(n)
		p.valid.shrink((n + 7) / 8)
		p.meta = p.meta[:n]
	}
}

func (p *pixelsBuilder) bytes() int64 { return int64(p.data.data.n) }

func (p *pixelsBuilder) finish() arrow.Array {
	kids := []arrow.ArrayData{p.data.finish(arrow.BinaryTypes.Binary)}
	dtype, profile := array.NewStringBuilder(p.mem), array.NewBinaryBuilder(p.mem, arrow.BinaryTypes.Binary)
	sides := [3]*array.Int32Builder{array.NewInt32Builder(p.mem), array.NewInt32Builder(p.mem), array.NewInt32Builder(p.mem)}
	nulls := 0
	for i := range p.meta {
		m := &p.meta[i]
		for k, v := range [3]int32{m.height, m.width, m.channels} {
			if m.valid {
				sides[k].Append(v)
			} else {
				sides[k].AppendNull()
			}
		}
		switch {
		case !m.valid:
			nulls++
			dtype.AppendNull()
		case m.wide:
			dtype.Append("uint16")
		default:
			dtype.Append("uint8")
		}
		if len(m.profile) > 0 {
			profile.Append(m.profile)
		} else {
			profile.AppendNull()
		}
	}
	for _, b := range []array.Builder{sides[0], sides[1], sides[2], dtype, profile} {
		a := b.NewArray()
		a.Data().Retain()
		kids = append(kids, a.Data())
		a.Release()
		b.Release()
	}
	valid := p.valid.take()
	d := array.NewData(block.PixelsStorage, len(p.meta), []*memory.Buffer{valid}, kids, nulls, 0)
	p.meta = nil
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
}
