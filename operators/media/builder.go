package media

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// builder gathers results of consecutive rows of one input block and makes a block of them.
type builder struct {
	r       *runner
	b       *block.Block
	rows    []uint32
	headers []imaging.Header
	decoded int64        // pixels of the files behind the rows
	image   imageBuilder // nil if the image column passes through
	hash    *array.Uint64Builder
	scores  [3]*array.Float64Builder
	added   []string // names of the columns of hash and scores, in that order
}

// newBuilder makes a builder for rows of b, at most those of the headers.
func newBuilder(r *runner, b *block.Block, headers []imaging.Header) *builder {
	mem := r.rt.Allocator()
	o := &builder{r: r, b: b}
	if r.dest != "" {
		at, _ := dataset.FieldIndex(r.out, r.dest)
		o.image = newImageBuilder(mem, r.out.Field(at).Type, r.tensor, room{r.rt.BlockBytes(), workOf(headers)})
	}
	for i := range r.spec.steps {
		switch r.spec.steps[i].img.(type) {
		case imaging.Hash:
			o.hash = array.NewUint64Builder(mem)
		case imaging.Measure:
			for k := range o.scores {
				o.scores[k] = array.NewFloat64Builder(mem)
			}
		}
	}
	return o
}

// append adds the result of a row; nil is that of a null image.
func (o *builder) append(row uint32, h *imaging.Header, res *imaging.Result) error {
	if o.image != nil {
		if err := o.image.append(res); err != nil {
			return err
		}
	}
	o.rows, o.headers = append(o.rows, row), append(o.headers, *h)
	o.decoded += pixelsOf(h)
	if o.hash != nil {
		if res == nil {
			o.hash.AppendNull()
		} else {
			o.hash.Append(res.Hash)
		}
	}
	if o.scores[0] == nil {
		return nil
	}
	for k, b := range o.scores {
		if res == nil {
			b.AppendNull()
		} else {
			b.Append([3]float64{res.Scores.Blur, res.Scores.Brightness, res.Scores.Entropy}[k])
		}
	}
	return nil
}

// A block is also full once it holds the work of so many pixels of files, some 50 ms of decoding, and enough bytes to be worth handing on: who waits for the
// rows, a model for one, begins with them while the next are decoded. Counting pixels, not time, a repeated call cuts its rows in the same places.
const (
	worthPixels = 4 << 20
	worthBytes  = 1 << 20
)

// workOf returns how many rows from the first on have so much work.
func workOf(headers []imaging.Header) int {
	n, pixels := 0, int64(0)
	for ; n < len(headers) && pixels < worthPixels; n++ {
		pixels += pixelsOf(&headers[n])
	}
	return n
}

func pixelsOf(h *imaging.Header) int64 { return int64(h.Width) * int64(h.Height) }

// full reports whether the block has the size that blocks should have.
func (o *builder) full() bool {
	if o.decoded >= worthPixels && o.image != nil && o.image.bytes() >= worthBytes {
		return true
	}
	if limit := o.r.rt.BlockRows(); limit > 0 && len(o.rows) >= limit && o.image != nil {
		return true
	}
	return o.image != nil && o.image.bytes() >= o.r.rt.BlockBytes()
}

// emit hands the block on, unless it has no rows.
func (o *builder) emit(emit dataset.Emit) error {
	if len(o.rows) == 0 {
		return nil
	}
	cols := make([]arrow.Array, 0, o.r.out.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i := range o.r.out.NumFields() {
		c, err := o.column(o.r.out.Field(i).Name)
		if err != nil {
			return fmt.Errorf("build column %q: %w", o.r.out.Field(i).Name, err)
		}
		cols = append(cols, c)
	}
	rec := block.FromColumns(o.r.out, cols, len(o.rows))
	if len(o.rows) == o.b.NumRows() {
		return emit(o.b.Replace(rec))
	}
	return emit(o.b.Select(rec, o.rows))
}

// column makes one output column.
func (o *builder) column(name string) (arrow.Array, error) {
	mem := o.r.rt.Allocator()
	if name == o.r.dest && o.image != nil {
		return o.image.finish(), nil
	}
	for i := range o.r.spec.steps {
		s := &o.r.spec.steps[i]
		for k, f := range s.adds {
			if f.Name != name {
				continue
			}
			switch s.img.(type) {
			case imaging.Hash:
				return o.hash.NewArray(), nil
			case imaging.Measure:
				return o.scores[k].NewArray(), nil
			}
			return headerColumn(mem, name, o.headers), nil
		}
	}
	at, err := dataset.FieldIndex(o.r.in, name)
	if err != nil {
		return nil, err
	}
	return takeRows(mem, o.b.Column(at), o.rows)
}

// discard frees what was not emitted.
func (o *builder) discard() {
	if o.image != nil {
		o.image.release()
	}
	if o.hash != nil {
		o.hash.Release()
	}
	for _, b := range o.scores {
		if b != nil {
			b.Release()
		}
	}
}
