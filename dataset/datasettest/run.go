package datasettest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// Config is how Run runs an operator. The zero value is filled in by Run.
type Config struct {
	Instances    int                 // default 1; blocks go to them in turn
	Window       int                 // default the Spec's, or 16
	Budget       int64               // bytes that TryReserve gives out at most; 0: no limit
	ScratchLimit int64               // bytes of scratch files at most; 0: no limit
	BlockBytes   int64               // default 1 MiB
	BlockRows    int                 // default 8192
	OnError      dataset.ErrorPolicy // default skip
	WantError    bool                // an error of the operator goes into Result.Err instead of failing the test
	Context      context.Context     // default the test's
	Logger       *slog.Logger        // default nowhere
}

// Result is what came out. Its blocks are released when the test ends.
type Result struct {
	Schema       *arrow.Schema
	Blocks       []*block.Block // in the order of emission; for barriers in the order of partitions
	Failures     []Failure      // in the order of their reports
	Warnings     map[string]int
	Stopped      bool  // the operator said ErrStop
	Consumed     int   // input blocks that were given to it
	PeakReserved int64 // the most that was reserved at once
	Spilled      int64 // bytes written to scratch files
	Err          error
}

// NumRows counts the rows that came out.
func (r *Result) NumRows() int {
	n := 0
	for _, b := range r.Blocks {
		n += b.NumRows()
	}
	return n
}

// Rows renders the rows that came out, as arraytest.Rows does.
func (r *Result) Rows() []string {
	var out []string
	for _, b := range r.Blocks {
		out = append(out, arraytest.Rows(b.Record())...)
	}
	return out
}

// IDs renders the identities of the rows that came out: ordinal:position.child.child.
func (r *Result) IDs() []string {
	var out []string
	for _, b := range r.Blocks {
		for i := range b.Identity().Len() {
			out = append(out, IDText(b.Identity().At(i)))
		}
	}
	return out
}

// IDText renders an identity.
func IDText(id block.RowID) string {
	if id.File == nil {
		return "?"
	}
	s := fmt.Sprintf("%d:%d", id.File.Ordinal, id.Position)
	for _, c := range id.Child {
		s += fmt.Sprintf(".%d", c)
	}
	return s
}

// Causes renders the failures as "identity: cause", sorted.
func (r *Result) Causes() []string {
	out := make([]string, len(r.Failures))
	for i, f := range r.Failures {
		out[i] = IDText(f.Row) + ": " + f.Err.Error()
	}
	slices.Sort(out)
	return out
}

// Run checks spec against the schemas of its ports, runs it over the blocks of each and returns what it emits. Input blocks are taken
// over. mem must be the allocator of the blocks.
func Run(tb testing.TB, mem *arraytest.Memory, spec dataset.Spec, cfg Config, ports ...Input) *Result {
	tb.Helper()
	schemas := make([]*arrow.Schema, len(ports))
	for i, p := range ports {
		schemas[i] = p.Schema
	}
	r := &runner{spec: spec, in: schemas, res: &Result{}}
	out, err := spec.Check(schemas)
	if err != nil {
		for _, p := range ports {
			p.release()
		}
		if !cfg.WantError {
			tb.Fatalf("check %s: %v", spec.Name(), err)
		}
		r.res.Err = err
		return r.res
	}
	r.res.Schema = out
	r.shared = &shared{tb: tb, cfg: cfg.defaults(tb, spec), mem: mem, warnings: map[string]int{}}
	book := newBook(tb, ports)
	r.res.Err = r.run(ports)
	r.finish()
	book.check(r.res)
	if r.res.Err != nil && !cfg.WantError {
		tb.Fatalf("run %s: %v", spec.Name(), r.res.Err)
	}
	return r.res
}

func (c Config) defaults(tb testing.TB, spec dataset.Spec) Config {
	if c.Instances == 0 {
		c.Instances = 1
	}
	if c.Instances > 1 && spec.Instances() != dataset.Any {
		tb.Fatalf("%s runs in one instance only", spec.Name())
	}
	if c.Window == 0 {
		if c.Window = spec.Needs().Window; c.Window == 0 {
			c.Window = 16
		}
	}
	if c.BlockBytes == 0 {
		c.BlockBytes = 1 << 20
	}
	if c.BlockRows == 0 {
		c.BlockRows = 8192
	}
	if c.OnError == "" {
		c.OnError = dataset.OnErrorSkip
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Context == nil {
		c.Context = tb.Context()
	}
	return c
}

type runner struct {
	*shared
	spec  dataset.Spec
	in    []*arrow.Schema
	ops   []dataset.Operator
	rts   []*Runtime
	res   *Result
	parts []dataset.Partition
}

func (r *runner) run(ports []Input) (err error) {
	ctx, cancel := context.WithCancel(r.cfg.Context)
	defer func() {
		for _, rt := range r.rts {
			rt.abandon()
		}
		cancel()
		r.flights.Wait()
		err = errors.Join(err, r.close())
		for _, p := range ports {
			p.release()
		}
	}()
	for range r.cfg.Instances {
		op, err := r.spec.New(r.in)
		if err != nil {
			return err
		}
		rt := &Runtime{shared: r.shared, ctx: ctx, emit: r.take, results: make(chan func(dataset.Emit) error, r.cfg.Window)}
		r.ops, r.rts = append(r.ops, op), append(r.rts, rt)
		if err := op.Open(ctx, rt); err != nil {
			return err
		}
	}
	err = r.feed(ctx, ports)
	if errors.Is(err, dataset.ErrStop) {
		r.res.Stopped, err = true, nil
	}
	if err != nil {
		return err
	}
	for i, op := range r.ops {
		if err := r.rts[i].drain(); err != nil {
			return err
		}
		if err := op.Flush(ctx, r.take); err != nil && !errors.Is(err, dataset.ErrStop) {
			return err
		}
		if err := r.rts[i].drain(); err != nil { // Flush may have started calls, as an engine allows
			return err
		}
	}
	return r.partitions(ctx)
}

// feed gives the blocks of all ports in turn to the instances in turn, honouring port phases.
func (r *runner) feed(ctx context.Context, ports []Input) error {
	for _, step := range r.schedule(ports) {
		i := r.res.Consumed % len(r.ops)
		r.res.Consumed++
		err := r.ops[i].Process(ctx, step.port, step.block, r.take)
		if err == nil && r.rts[i].flying > 0 { // deliver now and then, as an engine does
			select {
			case f := <-r.rts[i].results:
				err = r.rts[i].deliver(f)
			default:
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type step struct {
	port  int
	block *block.Block
}

func (r *runner) schedule(ports []Input) []step {
	phase := func(int) int { return 0 }
	if p, ok := r.spec.(dataset.PortPhases); ok {
		phase = p.PortPhase
	}
	var steps []step
	most := 0
	for _, p := range ports {
		most = max(most, len(p.Blocks))
	}
	for i := range most {
		for port, p := range ports {
			if i < len(p.Blocks) {
				steps = append(steps, step{port, p.Blocks[i]})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return phase(a.port) - phase(b.port) })
	return steps
}

// take is the emit of all instances.
func (r *runner) take(b *block.Block) error {
	if want, have := r.res.Schema, b.Schema(); !sameFields(want, have) {
		r.tb.Errorf("a block was emitted with schema %s, Check said %s", have, want)
	}
	for i := range b.NumCols() {
		if n := b.Column(i).Len(); n != b.NumRows() {
			r.tb.Errorf("a block of %d rows was emitted with a column of %d", b.NumRows(), n)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Blocks = append(r.res.Blocks, b)
	return nil
}

func sameFields(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y arrow.Field) bool {
		return x.Name == y.Name && arrow.TypeEqual(x.Type, y.Type)
	})
}

// partitions runs the second phase of a barrier.
func (r *runner) partitions(ctx context.Context) error {
	b, ok := r.spec.(dataset.Barrier)
	if !ok {
		return nil
	}
	if len(r.res.Blocks) > 0 {
		r.tb.Error("a barrier emitted before Merge")
	}
	var states []any
	for _, op := range r.ops {
		states = append(states, op.(dataset.BarrierOperator).State())
	}
	parts, err := b.Merge(ctx, r.rts[0], r.in, states)
	if err != nil {
		return err
	}
	r.parts = parts
	for _, p := range parts {
		if err := p.Run(ctx, r.rts[0], r.take); err != nil {
			if errors.Is(err, dataset.ErrStop) {
				return nil
			}
			return err
		}
	}
	return nil
}

func (r *runner) close() error {
	var errs []error
	for _, p := range r.parts {
		errs = append(errs, p.Close())
	}
	for _, op := range r.ops {
		errs = append(errs, op.Close())
	}
	return errors.Join(errs...)
}

// finish checks what the operator left behind and arranges the release of the result.
func (r *runner) finish() {
	r.res.Failures, r.res.Warnings = r.failures, r.warnings
	r.res.PeakReserved, r.res.Spilled = r.peak.Load(), r.spilled.Load()
	if n := r.reserved.Load(); n != 0 {
		r.tb.Errorf("%s left %d bytes reserved", r.spec.Name(), n)
	}
	for _, f := range r.files {
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			r.tb.Errorf("%s left a scratch file open", r.spec.Name())
		}
	}
	blocks := r.res.Blocks
	r.tb.Cleanup(func() {
		for _, b := range blocks {
			b.Release()
		}
	})
}
