package isolate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// DefaultTimeout is how long a child may work on one row unless the options say otherwise.
const DefaultTimeout = time.Minute

// Wrap makes a Spec whose instances run s in child processes, or returns s as it is where it says that it need not or cannot run there. timeout is how
// long a child may work on one row before it is killed; 0 means DefaultTimeout.
func Wrap(s dataset.Spec, timeout time.Duration) dataset.Spec {
	i, ok := s.(dataset.Isolable)
	if !ok {
		return s
	}
	recipe := i.Recipe()
	if len(recipe) == 0 {
		return s
	}
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return &spec{inner: s, recipe: recipe, timeout: timeout}
}

// spec is a Spec that runs elsewhere.
type spec struct {
	inner   dataset.Spec
	recipe  []dataset.Ingredient
	timeout time.Duration
}

var (
	_ dataset.Spec             = (*spec)(nil)
	_ dataset.Columner         = (*spec)(nil)
	_ dataset.OneToOne         = (*spec)(nil)
	_ dataset.Backend          = (*spec)(nil)
	_ dataset.Nondeterministic = (*spec)(nil)
	_ dataset.NotFusible       = (*spec)(nil)
	_ dataset.Memory           = (*spec)(nil)
)

func (s *spec) Name() string                 { return s.inner.Name() }
func (s *spec) Version() int                 { return s.inner.Version() }
func (s *spec) Params() any                  { return s.inner.Params() }
func (s *spec) Instances() dataset.Instances { return s.inner.Instances() }

// NotFusible implements dataset.NotFusible: each instance has a process.
func (*spec) NotFusible() bool { return true }

// Holds implements dataset.Memory.
func (s *spec) Holds() string {
	if m, ok := s.inner.(dataset.Memory); ok {
		return m.Holds() + ", in child processes"
	}
	return "streams, in child processes"
}

// Columns implements dataset.Columner.
func (s *spec) Columns(in *arrow.Schema, want []string) []string {
	if c, ok := s.inner.(dataset.Columner); ok {
		return c.Columns(in, want)
	}
	return nil
}

// RowsOneToOne implements dataset.OneToOne.
func (s *spec) RowsOneToOne() bool {
	o, ok := s.inner.(dataset.OneToOne)
	return ok && o.RowsOneToOne()
}

// Backend implements dataset.Backend.
func (s *spec) Backend() string {
	if b, ok := s.inner.(dataset.Backend); ok {
		return b.Backend()
	}
	return ""
}

// Nondeterministic implements dataset.Nondeterministic.
func (s *spec) Nondeterministic() bool {
	n, ok := s.inner.(dataset.Nondeterministic)
	return ok && n.Nondeterministic()
}

// Needs adds the base size of a child.
func (s *spec) Needs() dataset.Resources {
	n := s.inner.Needs()
	base, _ := baseBytes() // Check reports the error
	n.OffHeapBytes += base
	return n
}

// Check implements dataset.Spec. Where no child can be started it says why.
func (s *spec) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if _, err := baseBytes(); err != nil {
		return nil, fmt.Errorf("isolate: %w", err)
	}
	return s.inner.Check(in)
}

// New implements dataset.Spec.
func (s *spec) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := s.inner.Check(in)
	if err != nil {
		return nil, err
	}
	o := &op{spec: s, in: in[0], out: out}
	for _, r := range s.recipe {
		params, err := json.Marshal(r.Params)
		if err != nil {
			return nil, fmt.Errorf("write parameters of %s: %w", r.Name, err)
		}
		o.steps = append(o.steps, step{r.Name, params})
	}
	return o, nil
}

// startTime is how long a child may take to be there.
const startTime = time.Minute

// Base is what a child takes before it does anything, beside the pages of the program, which it shares with us. The error says why none can be started.
func Base() (int64, error) { return baseBytes() }

// baseBytes is what a child takes before it does anything, beside the pages of the program, which it shares with us; one is started to find out, once.
var baseBytes = sync.OnceValues(func() (int64, error) {
	p, err := startChild("", 0, nil)
	if err != nil {
		return 0, err
	}
	defer p.End()
	n, _ := child.PrivateOf(p.Pid)
	return n, nil
})

// startChild starts a child that runs on so many processors, 2 if 0, and waits until it is there.
func startChild(name string, slots int, l *child.Launch) (*child.Proc, error) {
	if l == nil {
		l = &child.Launch{}
	}
	exe, err := executable()
	if err != nil {
		return nil, err
	}
	l.Program, l.Args, l.What, l.IsGo = exe, []string{"isolated", name}, "isolated step", true
	l.Env = append(l.Env, childVariable+"=1", "GOGC=50", "GOTRACEBACK=single")
	if slots == 0 {
		slots = 2
	}
	l.Env = append(l.Env, fmt.Sprint("GOMAXPROCS=", slots))
	p, err := child.Start(*l)
	if err != nil {
		return nil, fmt.Errorf("start child: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), startTime, fmt.Errorf("it is not there after %v", startTime))
	defer cancel()
	var r report
	if err = hear(ctx, p, nil, &r); err == nil && r.Op != reportReady {
		err = fmt.Errorf("it says %q", r.Op)
	}
	if err != nil {
		p.End()
		return nil, fmt.Errorf("start child: %w; a program that isolates steps calls isolate.Serve first", err)
	}
	return p, nil
}

// executable is this program, also when its file has been replaced since it was started.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// hear reads a report, of the type that the child's job has.
func hear[T any](ctx context.Context, p *child.Proc, watch func() error, r *T) error {
	body, err := p.Receive(ctx, watch)
	if err != nil {
		return err
	}
	*r = *new(T)
	if err := json.Unmarshal(body, r); err != nil {
		return p.Stop(&child.Died{Text: fmt.Sprintf("the process wrote a message that is none: %v", err), Kind: "process"})
	}
	return nil
}

// tell sends an order.
func tell[T any](p *child.Proc, o T) error {
	body, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("write order: %w", err)
	}
	if err := p.Send(body); err != nil {
		return p.Death()
	}
	return nil
}
