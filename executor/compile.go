package executor

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/sched"
)

// Physical is a compiled plan: stages in topological order.
type Physical struct {
	Stages  []*PhysicalStage
	Changes []dataset.Change // what the optimizer did before
}

// PhysicalStage is a source, a chain of fused operators, or a sink.
type PhysicalStage struct {
	Name    string
	Source  dataset.Source
	Ops     []*dataset.Node // the fused operators, first to last
	Sink    dataset.Sink
	Yield   bool // the output without a sink: its blocks go to the caller
	Output  int  // which output of the plan a sink or yield stage is
	Inputs  []int
	In      []*arrow.Schema // schemas of the inputs
	Schemas []*arrow.Schema // output schema of each operator; for a source, of the source
	Sched   sched.Stage
	// Origin is the number under which identities name the rows that begin here: sources count from 0, barriers from barrierSource.
	// It does not depend on how steps are fused.
	Origin uint32
	// InOrder says that a sink gets its rows in source order or in that of a sort.
	InOrder bool
}

// out is the schema that the stage gives.
func (s *PhysicalStage) out() *arrow.Schema {
	if len(s.Schemas) > 0 {
		return s.Schemas[len(s.Schemas)-1]
	}
	return s.In[0]
}

// Compile optimises a plan and cuts it into stages. Schema errors name the step.
func Compile(ctx context.Context, p *dataset.Plan, cfg *Config) (*Physical, error) {
	schemas, outs := dataset.NewSchemas(), p.Outputs
	if p.Options.Isolate {
		outs = partlyIsolated(outs, p.Options)
	}
	for _, o := range outs { // mistakes are reported on the plan as written
		sc, err := schemas.Of(ctx, o.Node)
		if err != nil {
			return nil, err
		}
		if o.Sink != nil {
			if err := o.Sink.Check(sc); err != nil {
				return nil, &dataset.UsageError{Err: fmt.Errorf("%s: %w", o.Sink.Name(), err)}
			}
		}
	}
	outs, changes, err := dataset.OptimizeNoted(ctx, outs)
	if err != nil {
		return nil, err
	}
	if p.Options.Isolate {
		if outs, err = isolated(outs, p.Options, cfg); err != nil {
			return nil, err
		}
	}
	c := &compiler{
		ctx: ctx, parallel: cfg.Parallel, noFuse: p.Options.Batch.NoFuse, opts: p.Options, schemas: dataset.NewSchemas(),
		stageOf: map[*dataset.Node]int{}, users: map[*dataset.Node]int{},
	}
	roots := make([]*dataset.Node, len(outs))
	for i, o := range outs {
		roots[i] = o.Node
		c.users[o.Node]++
	}
	dataset.Walk(func(n *dataset.Node) {
		for _, in := range n.Inputs {
			c.users[in]++
		}
	}, roots...)
	dataset.Walk(func(n *dataset.Node) {
		if err == nil {
			err = c.add(n)
		}
	}, roots...)
	if err != nil {
		return nil, err
	}
	for i, o := range outs {
		if err := c.addSink(i, o); err != nil {
			return nil, err
		}
	}
	c.order(p.Options)
	c.number()
	return &Physical{Stages: c.stages, Changes: changes}, nil
}

// partlyIsolated has steps do in child processes what they do not want to do here.
func partlyIsolated(outs []dataset.Output, opts dataset.Options) []dataset.Output {
	return dataset.Replace(outs, func(s dataset.Spec) dataset.Spec {
		if i, ok := s.(dataset.PartIsolable); ok {
			return i.Isolated(opts.IsolateTimeout)
		}
		return s
	})
}

// isolated has steps run in child processes that say that they can.
func isolated(outs []dataset.Output, opts dataset.Options, cfg *Config) ([]dataset.Output, error) {
	if cfg.Isolate == nil {
		return nil, dataset.Usagef("--isolate: this program starts no child processes")
	}
	return dataset.Replace(outs, func(s dataset.Spec) dataset.Spec { return cfg.Isolate(s, opts.IsolateTimeout) }), nil
}

type compiler struct {
	ctx      context.Context
	parallel int
	noFuse   bool
	opts     dataset.Options
	schemas  *dataset.Schemas
	stages   []*PhysicalStage
	stageOf  map[*dataset.Node]int
	users    map[*dataset.Node]int
}

// add places one node: in the stage of its input if they fuse, else in a new stage.
func (c *compiler) add(n *dataset.Node) error {
	out, err := c.schemas.Of(c.ctx, n)
	if err != nil {
		return err
	}
	if n.Source != nil {
		c.stageOf[n] = len(c.stages)
		c.stages = append(c.stages, &PhysicalStage{
			Name: "read " + n.Source.Name(), Source: n.Source, Schemas: []*arrow.Schema{out},
			Sched: sched.Stage{Name: "read " + n.Source.Name(), Source: true, MinWorkers: n.Hints.MinWorkers, MaxWorkers: n.Hints.MaxWorkers},
		})
		return nil
	}
	in, err := c.schemas.Inputs(c.ctx, n)
	if err != nil {
		return err
	}
	if s := c.fusesInto(n); s != nil {
		s.Ops = append(s.Ops, c.seeded(n))
		s.Schemas = append(s.Schemas, out)
		s.Name += " → " + n.Name()
		s.Sched.Name = s.Name
		c.stageOf[n] = c.stageOf[n.Inputs[0]]
		return nil
	}
	st := &PhysicalStage{Name: n.Name(), Ops: []*dataset.Node{c.seeded(n)}, In: in, Schemas: []*arrow.Schema{out}}
	st.Sched = c.workers(n)
	if w, ok := n.Spec.(dataset.Weighed); ok {
		bytes, err := w.Weigh(c.ctx)
		if err != nil {
			return &dataset.UsageError{Err: fmt.Errorf("%s: %w", n.Name(), err)}
		}
		st.Sched.OffHeap += bytes
	}
	for i, ch := range n.Inputs {
		from := c.stageOf[ch]
		st.Inputs = append(st.Inputs, from)
		port := sched.Port{From: sched.StageID(from), Spillable: true}
		if pp, ok := n.Spec.(dataset.PortPhases); ok {
			port.Phase = pp.PortPhase(i)
		}
		st.Sched.Ports = append(st.Sched.Ports, port)
	}
	c.stageOf[n] = len(c.stages)
	c.stages = append(c.stages, st)
	return nil
}

// seeded returns n under the run's seed, if it draws and the run has one.
func (c *compiler) seeded(n *dataset.Node) *dataset.Node {
	s, ok := n.Spec.(dataset.Seeded)
	if !ok || !c.opts.SeedSet {
		return n
	}
	m := *n
	m.Spec = s.WithSeed(c.opts.Seed)
	return &m
}

// workers gives the scheduler's view of a stage that begins with n.
func (c *compiler) workers(n *dataset.Node) sched.Stage {
	need := n.Spec.Needs()
	s := sched.Stage{
		Name: n.Name(), NoCPU: need.NoCPU, OffHeap: need.OffHeapBytes,
		MinWorkers: max(need.MinWorkers, n.Hints.MinWorkers), MaxWorkers: need.MaxWorkers,
	}
	if n.Hints.MaxWorkers > 0 {
		s.MaxWorkers = n.Hints.MaxWorkers
	}
	if s.MaxWorkers == 0 {
		s.MaxWorkers = c.parallel
		if need.NoCPU {
			s.MaxWorkers = 1
		}
	}
	if n.Spec.Instances() != dataset.Any || wantsOrder(n.Spec) {
		s.MinWorkers, s.MaxWorkers = 1, 1
	}
	s.MinWorkers = min(s.MinWorkers, s.MaxWorkers)
	_, s.Barrier = n.Spec.(dataset.Barrier)
	return s
}

// fusesInto returns the stage of n's only input if n may run in it: same resource class, nothing that needs a queue between them.
func (c *compiler) fusesInto(n *dataset.Node) *PhysicalStage {
	if c.noFuse || len(n.Inputs) != 1 || c.users[n.Inputs[0]] != 1 || !plain(n) {
		return nil
	}
	in := n.Inputs[0]
	if in.Source != nil || !plain(in) {
		return nil
	}
	return c.stages[c.stageOf[in]]
}

// plain says whether n is an ordinary CPU operator that may share a stage.
func plain(n *dataset.Node) bool {
	need := n.Spec.Needs()
	if need.NoCPU || need.Window > 0 || need.MilliGPU > 0 || need.OffHeapBytes > 0 || n.Hints.Separate || n.Hints.MaxWorkers > 0 || n.Hints.MinWorkers > 0 {
		return false
	}
	if n.Spec.Instances() != dataset.Any || wantsOrder(n.Spec) || len(n.Inputs) != 1 {
		return false
	}
	if _, barrier := n.Spec.(dataset.Barrier); barrier {
		return false
	}
	nf, ok := n.Spec.(dataset.NotFusible)
	return !ok || !nf.NotFusible()
}

func wantsOrder(s dataset.Spec) bool {
	w, ok := s.(dataset.WantsOrder)
	return ok && w.WantsOrder()
}

// addSink ends an output in a stage of its own.
func (c *compiler) addSink(i int, o dataset.Output) error {
	from := c.stageOf[o.Node]
	st := &PhysicalStage{Output: i, Inputs: []int{from}, In: []*arrow.Schema{c.stages[from].out()}, Sink: o.Sink}
	if o.Sink == nil {
		st.Name, st.Yield = "hand over", true
		st.Sched = sched.Stage{NoCPU: true, MaxWorkers: 1, TaskBlocks: 1}
	} else {
		st.Name = "write " + o.Sink.Name()
		st.Sched.MaxWorkers = c.parallel
	}
	st.Sched.Name = st.Name
	st.Sched.Ports = []sched.Port{{From: sched.StageID(from), Spillable: true}}
	c.stages = append(c.stages, st)
	return nil
}

// order marks the stages whose output must keep its order: everything upstream of a consumer that depends on it.
func (c *compiler) order(opts dataset.Options) {
	for i := len(c.stages) - 1; i >= 0; i-- {
		s := c.stages[i]
		needs := s.Sched.Ordered && !s.Sched.Barrier // what it gives must be in order, so what it takes must be
		switch {
		case s.Sink != nil:
			k, ok := s.Sink.(dataset.OrderKeeper)
			needs = opts.Ordered || ok && k.KeepsOrder() || c.sortedInput(s)
			if needs {
				s.Sched.MaxWorkers, s.InOrder = 1, true
			}
		case s.Yield:
			needs = opts.Ordered || c.sortedInput(s)
		case !s.Sched.Barrier && c.sortedInput(s):
			needs = true
		case len(s.Ops) > 0 && wantsOrder(s.Ops[0].Spec):
			needs = true
		}
		if !needs {
			continue
		}
		s.Sched.MaxWorkers = c.orderedWorkers(s)
		for p, from := range s.Inputs {
			c.stages[from].Sched.Ordered = true
			if len(s.Inputs) > 1 {
				if _, ok := s.Ops[0].Spec.(dataset.PortPhases); !ok {
					s.Sched.Ports[p].Phase = p
				}
			}
		}
	}
}

// number gives sources and barriers their origins.
func (c *compiler) number() {
	sources, barriers := uint32(0), uint32(barrierSource)
	for _, s := range c.stages {
		switch {
		case s.Source != nil:
			s.Origin = sources
			sources++
		case s.Sched.Barrier:
			s.Origin = barriers
			barriers++
		}
	}
}

// orderedWorkers: an asynchronous stage keeps order only with one worker, which then delivers in the order of its calls.
func (c *compiler) orderedWorkers(s *PhysicalStage) int {
	if len(s.Ops) == 1 && s.Ops[0].Spec.Needs().NoCPU {
		return 1
	}
	return s.Sched.MaxWorkers
}

// sortedInput says whether an order of the data's own (a sort) reaches the stage.
func (c *compiler) sortedInput(s *PhysicalStage) bool {
	for _, from := range s.Inputs {
		f := c.stages[from]
		for _, n := range f.Ops {
			if o, ok := n.Spec.(dataset.Ordered); ok && o.OutputOrdered() {
				return true
			}
		}
		if !f.Sched.Barrier && c.sortedInput(f) {
			return true
		}
	}
	return false
}
