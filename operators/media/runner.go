package media

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// runner is one instance of a Program.
type runner struct {
	spec    *Program
	in, out *arrow.Schema
	image   int // the image column of the input
	decode  *decodeStep
	program imaging.Program
	keeps   bool // the image column passes through as it is
	filters []headerFilter
	tensor  *tensorStep
	dest    string // the image column of the output, "" if it passes through

	rt     dataset.Runtime
	marker dataset.RowMarker // nil: nobody asks
	worker *imaging.Worker
	held   reservation
	rows   rowSet
}

func newRunner(p *Program, in *arrow.Schema) (*runner, error) {
	out, err := p.Check([]*arrow.Schema{in})
	if err != nil {
		return nil, err
	}
	r := &runner{spec: p, in: in, out: out}
	first := p.steps[0]
	if r.image, err = dataset.FieldIndex(in, first.in); err != nil {
		return nil, err
	}
	r.decode = first.decode
	if r.decode != nil {
		r.program.Mode = r.decode.mode
	}
	schema := in
	for i := range p.steps {
		s := &p.steps[i]
		if s.filter != nil {
			f, err := newHeaderFilter(s, schema)
			if err != nil {
				return nil, err
			}
			r.filters = append(r.filters, f)
		}
		if s.changesImage() {
			r.dest = s.out
		}
		if s.img != nil {
			r.program.Steps = append(r.program.Steps, s.img)
		}
		if s.tensor != nil {
			r.tensor = s.tensor
		}
		if schema, err = s.check(schema); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Open makes the worker.
func (r *runner) Open(_ context.Context, rt dataset.Runtime) error {
	r.rt = rt
	r.marker, _ = rt.(dataset.RowMarker)
	r.worker = imaging.NewWorker()
	return nil
}

// Close frees native handles, scratch memory and reservations.
func (r *runner) Close() error {
	if r.worker != nil {
		r.worker.Close()
	}
	r.held.release()
	return nil
}

// Flush has nothing to emit: every block is finished in Process.
func (r *runner) Flush(context.Context, dataset.Emit) error { return nil }

// Process runs the program on each row. Results are cut into blocks by bytes: a block of files gives many blocks of pixels.
func (r *runner) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	cells, err := newCells(b.Column(r.image), r.decode != nil)
	if err != nil {
		return fmt.Errorf("read column %q: %w", r.in.Field(r.image).Name, err)
	}
	if err := r.readHeaders(b, cells); err != nil {
		return err
	}
	for i := range r.filters {
		if err := r.filters[i].apply(r, b); err != nil {
			return err
		}
	}
	return r.runRows(ctx, b, cells, emit)
}

// runRows makes and emits the blocks of results.
func (r *runner) runRows(ctx context.Context, b *block.Block, cells *cells, emit dataset.Emit) error {
	out := newBuilder(r, b, r.rows.headers)
	defer func() { out.discard() }()
	for i, row := range r.rows.index {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if r.marker != nil {
			r.marker.MarkRow(int(row))
		}
		res, err := r.runRow(ctx, cells, i, row)
		if err != nil {
			if err := r.fail(b, int(row), err); err != nil {
				return err
			}
			continue
		}
		if err := out.append(row, &r.rows.headers[i], res); err != nil {
			if err := r.fail(b, int(row), err); err != nil {
				return err
			}
			continue
		}
		if out.full() {
			if err := out.emit(emit); err != nil {
				return err
			}
			out.discard()
			out = newBuilder(r, b, r.rows.headers[i+1:])
		}
	}
	return out.emit(emit)
}

// runRow gives the result of one row; the zero Result for a null image.
func (r *runner) runRow(ctx context.Context, cells *cells, i int, row uint32) (*imaging.Result, error) {
	if cells.null(int(row)) {
		return nil, nil
	}
	r.worker.Reset()
	var res imaging.Result
	var err error
	if r.decode != nil {
		h := r.rows.headers[i]
		if err := r.reserve(ctx, r.worker.NeedBytes(&r.program, h)); err != nil {
			return nil, err
		}
		res, err = r.worker.Run(&r.program, cells.file(int(row)), h)
	} else {
		var m *imaging.Image
		if m, err = cells.pixels(int(row)); err != nil {
			return nil, err
		}
		if err := r.reserve(ctx, r.worker.NeedPixelBytes(&r.program, m)); err != nil {
			return nil, err
		}
		res, err = r.worker.RunPixels(&r.program, m)
	}
	return &res, err
}

// reserve takes n bytes of the budget for the worker. A refusal that is classed is about this row, which is too large for the budget; others
// end the run.
func (r *runner) reserve(ctx context.Context, n int64) error {
	err := r.held.atLeast(ctx, r.rt, n, r.worker.Trim)
	var row dataset.Classed
	if err == nil || errors.As(err, &row) {
		return err
	}
	return stopError{err}
}

// readHeaders starts the set of rows: all of them, less those whose header is refused.
func (r *runner) readHeaders(b *block.Block, cells *cells) error {
	r.rows.reset(b.NumRows())
	for row := range b.NumRows() {
		var h imaging.Header
		if r.decode != nil && !cells.null(row) {
			if r.marker != nil {
				r.marker.MarkRow(row)
			}
			var err error
			if h, err = imaging.ReadHeader(cells.file(row), r.decode.limits); err != nil {
				if err := r.fail(b, row, err); err != nil {
					return err
				}
				continue
			}
		}
		r.rows.add(uint32(row), h)
	}
	return nil
}

// stopError is an error that is not the row's: it ends Process.
type stopError struct{ error }

// fail reports the failure of a row, or returns what must end Process.
func (r *runner) fail(b *block.Block, row int, err error) error {
	if s, ok := errors.AsType[stopError](err); ok {
		return s.error
	}
	return r.rt.Fail(b, row, &imageError{step: r.spec.steps[0].name, class: classOf(err), err: err})
}

// imageError is the failure of one picture with the class that it is counted under.
type imageError struct {
	step  string // the step of the program that reads pictures
	class string
	err   error
}

// Step implements dataset.Stepped.
func (e *imageError) Step() string { return e.step }

// Error gives the words of the failure.
func (e *imageError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *imageError) Unwrap() error { return e.err }

// Class groups failures of one kind.
func (e *imageError) Class() string { return e.class }

func classOf(err error) string {
	var known dataset.Classed
	if errors.As(err, &known) {
		return known.Class()
	}
	for _, c := range []struct {
		is   error
		name string
	}{
		{imaging.ErrEmpty, "empty file"}, {imaging.ErrNotImage, "not an image"}, {imaging.ErrTruncated, "truncated"},
		{imaging.ErrCorrupt, "corrupt"}, {imaging.ErrTooLarge, "too large"}, {imaging.ErrUnsupported, "not supported"},
	} {
		if errors.Is(err, c.is) {
			return c.name
		}
	}
	return "image"
}

// rowSet is the rows of a block that are still in, ascending, with their headers.
type rowSet struct {
	index   []uint32
	headers []imaging.Header
}

func (s *rowSet) reset(n int) {
	if cap(s.index) < n {
		s.index, s.headers = make([]uint32, 0, n), make([]imaging.Header, 0, n)
	}
	s.index, s.headers = s.index[:0], s.headers[:0]
}

func (s *rowSet) add(row uint32, h imaging.Header) {
	s.index, s.headers = append(s.index, row), append(s.headers, h)
}

// keep leaves only the rows at the given ascending positions of the set.
func (s *rowSet) keep(positions []uint32) {
	for i, at := range positions {
		s.index[i], s.headers[i] = s.index[at], s.headers[at]
	}
	s.index, s.headers = s.index[:len(positions)], s.headers[:len(positions)]
}
