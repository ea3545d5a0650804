package media

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/isolate"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// CropBoxesParams are the parameters of crop-boxes.
type CropBoxesParams struct {
	Boxes string `json:"boxes" arg:"word" doc:"column of lists of boxes: structs of x, y, width and height"`
	In    string `json:"in,omitempty" doc:"column of pictures, encoded or decoded; default image"`
}

func init() {
	define(dataset.Def{
		Name: "crop-boxes",
		Doc:  "a row for each box in a picture, with what is in it",
		Help: "Each picture gives a row for each of its boxes: the picture column holds the part of it as pixels, the column of boxes the box; the other columns are repeated. " +
			"A picture is decoded once. Rows without boxes leave. Boxes are cut to the picture; one that lies outside is a row error of the picture.",
		Example: "crop-boxes boxes",
	}, CropBoxesParams{}, CropBoxes)
}

// CropBoxes makes a row of each box of a picture.
func CropBoxes(p CropBoxesParams) (dataset.Spec, error) {
	if p.Boxes == "" {
		return nil, errors.New("it needs the column of boxes: crop-boxes boxes")
	}
	p.In, _ = columns(p.In, "")
	return &cropBoxes{CropBoxesParams: p}, nil
}

type cropBoxes struct {
	CropBoxesParams
	isolated bool // pictures are decoded in a child process
	timeout  time.Duration
}

var (
	_ dataset.Spec           = (*cropBoxes)(nil)
	_ dataset.Columner       = (*cropBoxes)(nil)
	_ dataset.FilterCommuter = (*cropBoxes)(nil)
	_ dataset.Memory         = (*cropBoxes)(nil)
	_ dataset.PartIsolable   = (*cropBoxes)(nil)
)

// Isolated implements dataset.PartIsolable.
func (c *cropBoxes) Isolated(timeout time.Duration) dataset.Spec {
	return &cropBoxes{c.CropBoxesParams, true, timeout}
}

func (*cropBoxes) Name() string                 { return "crop-boxes" }
func (*cropBoxes) Version() int                 { return 2 }
func (c *cropBoxes) Params() any                { return c.CropBoxesParams }
func (*cropBoxes) Needs() dataset.Resources     { return dataset.Resources{} }
func (*cropBoxes) Instances() dataset.Instances { return dataset.Any }
func (c *cropBoxes) Holds() string {
	if c.isolated {
		return "streams, decodes in child processes"
	}
	return "streams"
}

// Columns implements dataset.Columner.
func (c *cropBoxes) Columns(_ *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	need := slices.Clone(want)
	for _, own := range []string{c.In, c.Boxes} {
		if !slices.Contains(need, own) {
			need = append(need, own)
		}
	}
	return need
}

// CommutesWithFilter implements dataset.FilterCommuter: the other columns are repeated as they are.
func (c *cropBoxes) CommutesWithFilter(columns []string) bool {
	return !slices.Contains(columns, c.In) && !slices.Contains(columns, c.Boxes)
}

// boxFields are the fields of a box, in the order in which they are read.
var boxFields = []string{"x", "y", "width", "height"}

func (c *cropBoxes) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	s := in[0]
	at, err := dataset.FieldIndex(s, c.In)
	if err != nil {
		return nil, err
	}
	if _, err := IsPicture(s.Field(at).Type); err != nil {
		return nil, fmt.Errorf("column %q: %w", c.In, err)
	}
	boxes, err := dataset.FieldIndex(s, c.Boxes)
	if err != nil {
		return nil, err
	}
	list, ok := s.Field(boxes).Type.(*arrow.ListType)
	elem, isStruct := arrow.DataType(nil), false
	if ok {
		elem = list.Elem()
		_, isStruct = elem.(*arrow.StructType)
	}
	if !isStruct {
		return nil, fmt.Errorf("column %q is %s; boxes are lists of structs of x, y, width and height", c.Boxes, s.Field(boxes).Type)
	}
	for _, name := range boxFields {
		f, ok := elem.(*arrow.StructType).FieldByName(name)
		if !ok || f.Type.ID() != arrow.INT32 {
			return nil, fmt.Errorf("column %q: a box has no int32 field %q", c.Boxes, name)
		}
	}
	fields := s.Fields()
	fields[at] = arrow.Field{Name: c.In, Type: block.Pixels, Nullable: true}
	fields[boxes] = arrow.Field{Name: c.Boxes, Type: elem, Nullable: true}
	md := s.Metadata()
	return arrow.NewSchema(fields, &md), nil
}

func (c *cropBoxes) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := c.Check(in)
	if err != nil {
		return nil, err
	}
	at := in[0].FieldIndices(c.In)[0]
	encoded, err := IsPicture(in[0].Field(at).Type)
	if err != nil {
		return nil, err
	}
	if c.isolated && encoded {
		if _, err := isolate.Base(); err != nil {
			return nil, fmt.Errorf("isolate: %w", err)
		}
	}
	return &boxCutter{spec: c, out: out, image: at, boxes: in[0].FieldIndices(c.Boxes)[0], encoded: encoded}, nil
}

// boxCutter is one instance of crop-boxes.
type boxCutter struct {
	spec         *cropBoxes
	out          *arrow.Schema
	image, boxes int
	encoded      bool
	rt           dataset.Runtime
	worker       *imaging.Worker
	held         reservation
	elsewhere    *Elsewhere      // decodes; nil: it is done here
	decoded      func()          // gives back what it gave
	fields       [4]*array.Int32 // of the boxes of the block in hand
}

// Open implements dataset.Operator.
func (c *boxCutter) Open(ctx context.Context, rt dataset.Runtime) (err error) {
	c.rt, c.worker = rt, imaging.NewWorker()
	if c.spec.isolated && c.encoded {
		c.elsewhere, err = OpenElsewhere(ctx, rt, nil, c.spec.timeout)
	}
	return err
}

// Flush implements dataset.Operator.
func (*boxCutter) Flush(context.Context, dataset.Emit) error { return nil }

// Close implements dataset.Operator.
func (c *boxCutter) Close() error {
	if c.worker != nil {
		c.worker.Close()
	}
	c.giveBack()
	c.held.release()
	if c.elsewhere != nil {
		return c.elsewhere.Close()
	}
	return nil
}

// giveBack ends the use of a picture that was decoded elsewhere.
func (c *boxCutter) giveBack() {
	if c.decoded != nil {
		c.decoded()
		c.decoded = nil
	}
}

// cuts are the rows that are gathered for a block.
type cuts struct {
	pixels  *pixelsBuilder
	parents []uint32
	items   []uint32 // among the values of the list
	places  []uint32 // among all boxes of the input block
}

// Process implements dataset.Operator.
func (c *boxCutter) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	cells, err := newCells(b.Column(c.image), c.encoded)
	if err != nil {
		return fmt.Errorf("read pictures: %w", err)
	}
	list := b.Column(c.boxes).(*array.List)
	s := list.ListValues().(*array.Struct)
	for i, name := range boxFields {
		at, _ := s.DataType().(*arrow.StructType).FieldIdx(name)
		c.fields[i] = s.Field(at).(*array.Int32)
	}
	var parents []uint32 // of all boxes, which names them
	for row := range b.NumRows() {
		if from, to := list.ValueOffsets(row); list.IsValid(row) {
			for range to - from {
				parents = append(parents, uint32(row))
			}
		}
	}
	id := b.Identity().FlatMap(parents)
	out := &cuts{pixels: newPixelsBuilder(c.rt.Allocator(), room{})}
	defer func() { out.pixels.release() }()
	first := 0
	for row := range b.NumRows() {
		from, to := list.ValueOffsets(row)
		if list.IsNull(row) || from == to {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.cut(ctx, cells, row, int(from), int(to), first, out); err != nil {
			if stop, ok := errors.AsType[stopError](err); ok {
				return stop.error
			}
			if err := c.rt.Fail(b, row, &imageError{step: "crop-boxes", class: classOf(err), err: err}); err != nil {
				return err
			}
		}
		first += int(to - from)
		if out.pixels.bytes() >= c.rt.BlockBytes() || len(out.parents) >= c.rt.BlockRows() {
			if err := c.emit(b, id, s, out, emit); err != nil {
				return err
			}
			out.pixels.release()
			*out = cuts{pixels: newPixelsBuilder(c.rt.Allocator(), room{})}
		}
	}
	return c.emit(b, id, s, out, emit)
}

// cut adds the parts of one picture, or none of them.
func (c *boxCutter) cut(ctx context.Context, cells *cells, row, from, to, first int, out *cuts) error {
	m, err := c.picture(ctx, cells, row)
	if err != nil || m == nil {
		return err
	}
	parts := make([]imaging.Image, 0, to-from)
	size := m.Model.Channels() * m.Depth / 8
	for i := from; i < to; i++ {
		x, y := int(c.fields[0].Value(i)), int(c.fields[1].Value(i))
		x1, y1 := min(x+int(c.fields[2].Value(i)), m.W), min(y+int(c.fields[3].Value(i)), m.H)
		x, y = max(x, 0), max(y, 0)
		if x1 <= x || y1 <= y {
			return fmt.Errorf("box %d lies outside the picture of %dx%d", i-from, m.W, m.H)
		}
		p := *m
		p.W, p.H = x1-x, y1-y
		p.Pix[0] = m.Pix[0][y*m.Stride[0]+x*size:]
		parts = append(parts, p)
	}
	for i := range parts {
		if err := out.pixels.append(&imaging.Result{Image: &parts[i]}); err != nil {
			return stopError{err} // rows of this picture are in the block already
		}
		out.parents, out.items, out.places = append(out.parents, uint32(row)), append(out.items, uint32(from+i)), append(out.places, uint32(first+i))
	}
	return nil
}

// picture gives the pixels of a row; nil for a null picture.
func (c *boxCutter) picture(ctx context.Context, cells *cells, row int) (*imaging.Image, error) {
	if cells.null(row) {
		return nil, nil
	}
	if !c.encoded {
		return cells.pixels(row)
	}
	h, err := imaging.ReadHeader(cells.file(row), imaging.DefaultLimits)
	if err != nil {
		return nil, err
	}
	c.worker.Reset()
	if err := c.held.atLeast(ctx, c.rt, c.worker.NeedBytes(rgb, h), c.worker.Trim); err != nil {
		var row dataset.Classed
		if !errors.As(err, &row) {
			return nil, stopError{err}
		}
		return nil, err
	}
	if c.elsewhere == nil {
		res, err := c.worker.Run(rgb, cells.file(row), h)
		return res.Image, err
	}
	c.giveBack()
	m, release, err := c.elsewhere.pixels(ctx, cells.file(row), h.Width*h.Height*4)
	if _, fatal := errors.AsType[*dataset.FatalError](err); fatal || err != nil && ctx.Err() != nil {
		return nil, stopError{err}
	}
	c.decoded = release
	return m, err
}

// emit hands on what is gathered.
func (c *boxCutter) emit(b *block.Block, id block.Identity, boxes *array.Struct, out *cuts, emit dataset.Emit) error {
	if len(out.parents) == 0 {
		return nil
	}
	mem := c.rt.Allocator()
	cols := make([]arrow.Array, 0, b.NumCols())
	defer func() {
		for _, a := range cols {
			a.Release()
		}
	}()
	for i := range b.NumCols() {
		var a arrow.Array
		var err error
		switch i {
		case c.image:
			a = out.pixels.finish()
		case c.boxes:
			a, err = block.TakeArray(mem, boxes, out.items)
		default:
			a, err = block.TakeArray(mem, b.Column(i), out.parents)
		}
		if err != nil {
			return fmt.Errorf("cut boxes: column %q: %w", b.Schema().Field(i).Name, err)
		}
		cols = append(cols, a)
	}
	rec := block.FromColumns(c.out, cols, len(out.parents))
	return emit(block.New(rec, id.Take(out.places)))
}
