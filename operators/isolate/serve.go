package isolate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/codec"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// childVariable is set for children.
const childVariable = "SLUICE_ISOLATED"

// Serve runs this process as a child and ends it, if it was started as one; else it does nothing. registry makes what is known by name, and models
// are opened by the scheme of their address.
func Serve(registry func() (*dataset.Registry, error), models map[string]gpu.Opener) {
	if os.Getenv(childVariable) == "" {
		return
	}
	os.Unsetenv(childVariable) // programs that we start are none
	debug.SetTraceback("single")
	s := &server{engine: child.Inherit(), registry: registry, models: models}
	if err := s.serve(); err != nil {
		fmt.Fprintln(os.Stderr, "isolated step:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// idleMemory is how much freed memory a child keeps for its next results.
const idleMemory = 16 << 20

// server is the child.
type server struct {
	engine   *child.Engine
	registry func() (*dataset.Registry, error)
	models   map[string]gpu.Opener
	// The engine removes segments that it needs no more; they are gone when nobody maps them. So what is mapped for a block is not for longer.
	marks, inputs, rooms child.Maps
	op                   dataset.Operator
	rt                   *childRuntime
	in                   *codec.Decoder
	out                  *codec.StreamEncoder
	mem                  *block.Allocator
	mark                 *uint64
	block                *block.Block // whose rows are worked on
	failed               error        // why a message could not be sent
}

// serve answers orders until there are none.
func (s *server) serve() error {
	if err := s.engine.Send(report{Op: reportReady}); err != nil {
		return err
	}
	for {
		var o order
		err := s.engine.Receive(&o)
		if errors.Is(err, io.EOF) {
			return s.close()
		}
		if err != nil {
			return err
		}
		switch o.Op {
		case orderModel:
			return serveModel(s.engine, s.models, o.Model)
		case orderOpen:
			err = s.open(&o)
		case orderRows:
			err = s.rows(&o)
		default:
			err = fmt.Errorf("there is no order %q", o.Op)
		}
		if s.failed != nil {
			return s.failed
		}
		if err := s.engine.Send(report{Op: reportEnded, Fault: faultOf(err)}); err != nil {
			return err
		}
	}
}

func (s *server) close() error {
	var err error
	if s.op != nil {
		err = s.op.Close()
	}
	return errors.Join(err, s.marks.Close())
}

// open builds the steps and opens them.
func (s *server) open(o *order) error {
	reg, err := s.registry()
	if err != nil {
		return err
	}
	spec, err := build(reg, o.Steps)
	if err != nil {
		return err
	}
	schema, err := codec.DecodeSchema(o.Schema)
	if err != nil {
		return err
	}
	in := []*arrow.Schema{schema}
	out, err := spec.Check(in)
	if err != nil {
		return err
	}
	if s.op, err = spec.New(in); err != nil {
		return err
	}
	s.mem = block.NewAllocator(block.NewPool(idleMemory), nil)
	if s.in, err = codec.NewDecoder(schema, 0); err != nil {
		return err
	}
	s.out = codec.NewStreamEncoder(out, s.mem)
	mark, err := s.marks.View(*o.Mark)
	if err != nil {
		return err
	}
	s.mark = (*uint64)(unsafe.Pointer(unsafe.SliceData(mark)))
	s.rt = &childRuntime{server: s, blockBytes: o.BlockBytes, blockRows: o.BlockRows, parallel: o.Parallel}
	return s.op.Open(context.Background(), s.rt)
}

// build makes the Spec of steps that were composed into one.
func build(reg *dataset.Registry, steps []step) (dataset.Spec, error) {
	var spec dataset.Spec
	for _, st := range steps {
		def, err := reg.Operator(st.Name)
		if err != nil {
			return nil, err
		}
		params := def.Zero()
		if err := json.Unmarshal(st.Params, params); err != nil {
			return nil, fmt.Errorf("%s: read parameters: %w", st.Name, err)
		}
		next, err := def.New(params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", st.Name, err)
		}
		if spec == nil {
			spec = next
			continue
		}
		c, ok := spec.(dataset.Composer)
		if !ok {
			return nil, fmt.Errorf("%s takes no step over, such as %s", spec.Name(), st.Name)
		}
		both, ok := c.Compose(next)
		if !ok {
			return nil, fmt.Errorf("%s does not take %s over", spec.Name(), st.Name)
		}
		spec = both
	}
	if spec == nil {
		return nil, errors.New("there are no steps")
	}
	return spec, nil
}

// rows works on some rows of a block.
func (s *server) rows(o *order) (err error) {
	p, err := s.inputs.View(*o.In)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.inputs.Close()) }()
	buf := memory.NewBufferBytes(p)
	rec, err := s.in.ViewStream(s.mem, buf, codec.StreamAt)
	buf.Release()
	if err != nil {
		return err
	}
	n := int(rec.NumRows())
	whole := block.New(rec, block.FromRuns(block.Run{File: &block.File{}, N: uint32(n), Stride: 1}))
	defer whole.Release()
	if o.From < 0 || o.To > n || o.From >= o.To {
		return fmt.Errorf("there are no rows [%d, %d) of %d", o.From, o.To, n)
	}
	s.block, s.rt.from = whole.Slice(o.From, o.To-o.From), o.From
	defer func() { s.block.Release(); s.block = nil }()
	return s.op.Process(context.Background(), 0, s.block, s.emit)
}

// emit hands results to the engine: asks for room, which is held only while they are written, and for more where they take more than was thought.
func (s *server) emit(b *block.Block) (err error) {
	defer b.Release()
	defer func() { err = errors.Join(err, s.rooms.Close()) }()
	for size := int64(child.StreamBytes(b.Record().Columns())); ; {
		o, err := s.ask(report{Op: reportRoom, Len: size})
		if err != nil {
			return err
		}
		room, err := s.rooms.View(*o.Out)
		if err != nil {
			return err
		}
		p, err := s.out.Append(room[:0], b.Record())
		if err != nil {
			return err
		}
		if len(p) <= len(room) {
			return s.results(b, int64(len(p)))
		}
		size = int64(len(p))
	}
}

// results tells of results in the room, which is then the engine's.
func (s *server) results(b *block.Block, n int64) error {
	rows := make([]uint32, b.NumRows())
	for i := range rows {
		_, at, _ := b.Identity().Origin(i)
		rows[i] = uint32(at)
	}
	return s.send(report{Op: reportResults, Len: n, Rows: rows})
}

// ask sends a report and waits for what the engine says to it.
func (s *server) ask(r report) (*order, error) {
	if err := s.send(r); err != nil {
		return nil, err
	}
	var o order
	if err := s.engine.Receive(&o); err != nil {
		s.failed = err
		return nil, err
	}
	return &o, o.Fault.err()
}

// send sends a report; once that fails the child ends.
func (s *server) send(r report) error {
	err := s.engine.Send(r)
	if err != nil {
		s.failed = err
	}
	return err
}

// working notes a row, for the case that it is the last.
func (s *server) working(row int) { atomic.StoreUint64(s.mark, uint64(row)+1) }
