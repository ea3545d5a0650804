package media

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// framer is one instance of frames.
type framer struct {
	spec   *frames
	out    *arrow.Schema
	image  int
	rt     dataset.Runtime
	worker *imaging.Worker
	held   reservation
}

// Open implements dataset.Operator.
func (f *framer) Open(_ context.Context, rt dataset.Runtime) error {
	f.rt, f.worker = rt, imaging.NewWorker()
	return nil
}

// Flush implements dataset.Operator.
func (*framer) Flush(context.Context, dataset.Emit) error { return nil }

// Close implements dataset.Operator.
func (f *framer) Close() error {
	if f.worker != nil {
		f.worker.Close()
	}
	f.held.release()
	return nil
}

// taken is how many of n frames are taken, and how many have to be decoded for that.
func (f *framer) taken(n int) (take, decode int) {
	take = (n + f.spec.params.Every - 1) / f.spec.params.Every
	if m := f.spec.params.Max; m > 0 {
		take = min(take, m)
	}
	return take, (take-1)*f.spec.params.Every + 1
}

// Process implements dataset.Operator. Which rows there will be is known from the structure of the files, before a frame is decoded: it names them.
func (f *framer) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	cells, err := newCells(b.Column(f.image), true)
	if err != nil {
		return fmt.Errorf("read pictures: %w", err)
	}
	counts := make([]int, b.NumRows()) // frames taken of each row
	var parents []uint32
	for row := range counts {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if cells.null(row) {
			continue
		}
		n, err := f.measure(cells.file(row))
		if err != nil {
			if err := f.fail(b, row, err); err != nil {
				return err
			}
			continue
		}
		for range n {
			parents = append(parents, uint32(row))
		}
		counts[row] = n
	}
	g := &frameRows{framer: f, b: b, id: b.Identity().FlatMap(parents), emit: emit}
	g.begin()
	defer func() { g.pixels.release() }()
	first := 0
	for row, n := range counts {
		if n == 0 {
			continue
		}
		if err := g.row(ctx, cells.file(row), row, first, n); err != nil {
			if err := f.fail(b, row, err); err != nil {
				return err
			}
		}
		first += n
	}
	return g.seal()
}

// fail reports the failure of a row, or returns what must end Process.
func (f *framer) fail(b *block.Block, row int, err error) error {
	if stop, ok := errors.AsType[stopError](err); ok {
		return stop.error
	}
	return f.rt.Fail(b, row, &imageError{step: "frames", class: classOf(err), err: err})
}

// measure is how many frames of a file are taken.
func (f *framer) measure(file []byte) (int, error) {
	h, err := imaging.ReadHeader(file, f.spec.limits)
	if err != nil {
		return 0, err
	}
	a, err := imaging.ReadAnimation(file, h, 0)
	if err != nil {
		return 0, err
	}
	take, decode := f.taken(a.Count)
	if decode > f.spec.most {
		return 0, fmt.Errorf("%w: %s has %d frames, of which %d would be decoded, above the limit of %d; take fewer with max=, or raise max_frames",
			imaging.ErrTooLarge, h.Format, a.Count, decode, f.spec.most)
	}
	if px := int64(a.W) * int64(a.H) * int64(decode); px > f.spec.total {
		return 0, fmt.Errorf("%w: %s has %d frames of %dx%d pixels, of which %d would be decoded, %d pixels, above the limit of %d; take fewer with max=, or raise max_total_pixels",
			imaging.ErrTooLarge, h.Format, a.Count, a.W, a.H, decode, px, f.spec.total)
	}
	return take, nil
}

// frameRows are the frames of the rows of one block.
type frameRows struct {
	*framer
	b    *block.Block
	id   block.Identity
	emit dataset.Emit

	pixels  *pixelsBuilder
	parents []uint32
	places  []uint32 // among all frames of the input block
	shots   []shot
}

// shot is what is known of a frame beside its pixels.
type shot struct {
	frame, frames int
	at, delay     time.Duration
	header        imaging.Header
}

func (g *frameRows) begin() {
	g.pixels = newPixelsBuilder(g.rt.Allocator(), room{})
	g.parents, g.places, g.shots = g.parents[:0], nil, g.shots[:0]
}

// row adds the n frames of a picture, or none of them.
func (g *frameRows) row(ctx context.Context, file []byte, row, first, n int) error {
	h, err := imaging.ReadHeader(file, g.spec.limits)
	if err != nil {
		return err
	}
	last := (n-1)*g.spec.params.Every + 1
	a, err := imaging.ReadAnimation(file, h, last)
	if err != nil {
		return err
	}
	if err := g.reserve(ctx, g.worker.NeedFrameBytes(a, h, g.spec.mode)); err != nil {
		return err
	}
	size := int64(h.Width) * int64(h.Height) * 4
	if g.pixels.rows() > 0 && (g.pixels.bytes()+size*int64(n) > g.rt.BlockBytes() || g.pixels.rows()+n > g.rt.BlockRows()) {
		if err := g.seal(); err != nil {
			return stopError{err}
		}
	}
	// What is in a block that went on cannot be taken back, so frames that need several blocks are looked at before.
	if n > 1 && a.Streams() && (size*int64(n) > g.rt.BlockBytes() || n > g.rt.BlockRows()) {
		if err := g.play(ctx, a, file, h, last, nil); err != nil {
			return err
		}
	}
	before := g.pixels.rows()
	err = g.play(ctx, a, file, h, last, func(p *imaging.Player, i int) error {
		m, err := p.Picture(g.spec.mode)
		if err != nil {
			return err
		}
		if err := g.pixels.append(&imaging.Result{Image: m}); err != nil {
			return stopError{err}
		}
		at, delay := a.Time(i)
		g.parents, g.places = append(g.parents, uint32(row)), append(g.places, uint32(first+i/g.spec.params.Every))
		g.shots = append(g.shots, shot{i, a.Count, at, delay, h})
		if g.pixels.bytes() >= g.rt.BlockBytes() || g.pixels.rows() >= g.rt.BlockRows() {
			before = 0
			return stopping(g.seal())
		}
		return nil
	})
	if err != nil {
		g.pixels.truncate(before)
		g.parents, g.places, g.shots = g.parents[:before], g.places[:before], g.shots[:before]
	}
	return err
}

// stopping makes an error one of the run.
func stopping(err error) error {
	if err == nil {
		return nil
	}
	return stopError{err}
}

// play decodes the first frames of a picture and calls take with each that is taken; without take it only finds out whether they can be decoded.
func (g *frameRows) play(ctx context.Context, a *imaging.Animation, file []byte, h imaging.Header, frames int, take func(p *imaging.Player, i int) error) error {
	p := g.worker.Play(a, file, h)
	for i := range frames {
		if ctx.Err() != nil {
			return stopError{context.Cause(ctx)}
		}
		if err := p.Next(); err != nil {
			return err
		}
		if take != nil && i%g.spec.params.Every == 0 {
			if err := take(p, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// reserve takes n bytes of the budget for the worker, as runner.reserve does.
func (f *framer) reserve(ctx context.Context, n int64) error {
	err := f.held.atLeast(ctx, f.rt, n, f.worker.Trim)
	var row dataset.Classed
	if err == nil || errors.As(err, &row) {
		return err
	}
	return stopError{err}
}

// seal emits what is gathered.
func (g *frameRows) seal() error {
	n := g.pixels.rows()
	if n == 0 {
		return nil
	}
	mem := g.rt.Allocator()
	cols := make([]arrow.Array, 0, g.out.NumFields())
	defer func() {
		for _, a := range cols {
			a.Release()
		}
	}()
	for i := range g.b.NumCols() {
		if i == g.image {
			cols = append(cols, g.pixels.finish())
			continue
		}
		a, err := block.TakeArray(mem, g.b.Column(i), g.parents)
		if err != nil {
			return fmt.Errorf("take frames: column %q: %w", g.b.Schema().Field(i).Name, err)
		}
		cols = append(cols, a)
	}
	cols = append(cols,
		numbers[int32](array.NewInt32Builder(mem), g.shots, func(s shot) int32 { return int32(s.frame) }),
		numbers[int32](array.NewInt32Builder(mem), g.shots, func(s shot) int32 { return int32(s.frames) }),
		numbers[int64](array.NewInt64Builder(mem), g.shots, func(s shot) int64 { return millis(s.at) }),
		numbers[int64](array.NewInt64Builder(mem), g.shots, func(s shot) int64 { return millis(s.delay) }),
		numbers[int32](array.NewInt32Builder(mem), g.shots, func(s shot) int32 { return int32(s.header.Width) }),
		numbers[int32](array.NewInt32Builder(mem), g.shots, func(s shot) int32 { return int32(s.header.Height) }),
		numbers[string](array.NewStringBuilder(mem), g.shots, func(s shot) string { return s.header.Format.String() }),
	)
	rec := block.FromColumns(g.out, cols, n)
	id := g.id.Take(g.places)
	g.pixels.release()
	g.begin()
	return g.emit(block.New(rec, id))
}

// millis rounds to milliseconds.
func millis(d time.Duration) int64 { return int64(d.Round(time.Millisecond) / time.Millisecond) }

// numbers makes a column of what f says of each frame.
func numbers[T any](b interface {
	array.Builder
	Append(T)
}, shots []shot, f func(shot) T) arrow.Array {
	defer b.Release()
	b.Reserve(len(shots))
	for _, s := range shots {
		b.Append(f(s))
	}
	return b.NewArray()
}
