package rowfn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Option says something about a function.
type Option func(*function)

// Name gives the function a stable name, which is part of the plan's fingerprint. Without it, it is the name in the program, which changes
// when code moves.
func Name(name string) Option { return func(f *function) { f.Func = name } }

// CodeVersion tells versions of a function of one name apart: raise it when the same row would give another result.
func CodeVersion(n int) Option { return func(f *function) { f.Code = n } }

// Nondeterministic says that the function may give other results for the same row. It is then not called again to find the row that made a
// batch fail, and a retry holds its output back.
func Nondeterministic() Option { return func(f *function) { f.random = true } }

// function is what is known of a function; its exported fields are the parameters of the step.
type function struct {
	Func   string `json:"func"`
	In     string `json:"in,omitempty"`
	Out    string `json:"out,omitempty"`
	Code   int    `json:"code,omitempty"`
	random bool
}

func newFunction(fn any, opts []Option) function {
	f := function{Func: "func"}
	if r := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()); r != nil {
		f.Func = r.Name()
	}
	for _, o := range opts {
		o(&f)
	}
	return f
}

// Version implements dataset.Spec.
func (function) Version() int { return 1 }

// Needs implements dataset.Spec.
func (function) Needs() dataset.Resources { return dataset.Resources{} }

// Instances implements dataset.Spec.
func (function) Instances() dataset.Instances { return dataset.Any }

// Holds implements dataset.Memory.
func (function) Holds() string { return "streams" }

// Nondeterministic implements dataset.Nondeterministic.
func (f function) Nondeterministic() bool { return f.random }

// guard calls f and turns a panic into an error about the given row of b.
func guard(op string, b *block.Block, row int, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &dataset.PanicError{Op: op, Where: where(b, row), Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

func where(b *block.Block, row int) string {
	if b.Identity().Len() <= row {
		return fmt.Sprintf("row %d of a block", row)
	}
	id := b.Identity().At(row)
	path := "an unnamed input"
	if id.File != nil {
		path = id.File.Path
	}
	return fmt.Sprintf("%s, row %d", path, id.Position)
}

// ends reports errors that are about the run and not about a row.
func ends(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, dataset.ErrStop) || errors.Is(err, dataset.ErrCanceled) {
		return true
	}
	if _, ok := errors.AsType[*dataset.TransientError](err); ok {
		return true
	}
	_, ok := errors.AsType[*dataset.FatalError](err)
	return ok
}
