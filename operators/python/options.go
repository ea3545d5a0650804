package python

import (
	"fmt"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// Option is a parameter of Class and Func.
type Option func(*Params)

// Class is the step that calls objects of a class, "module:Name" or "path/file.py:Name", on batches: each host process makes one object and calls
// its __call__ or process. Mistakes are reported when the plan is made.
func Class(target string, opts ...Option) dataset.Spec { return build(target, "class", opts) }

// Func is Class for a function.
func Func(target string, opts ...Option) dataset.Spec { return build(target, "function", opts) }

func build(target, kind string, opts []Option) dataset.Spec {
	p := defaults
	p.Target = target
	for _, o := range opts {
		o(&p)
	}
	return newSpec(p, kind)
}

// Schema gives the columns that are returned: "score float64, tags list<string>". Without it they are what the attribute schema says.
func Schema(columns string) Option { return func(p *Params) { p.Schema = columns } }

// Columns are those that the function gets; the others stay where they are.
func Columns(names ...string) Option { return func(p *Params) { p.Columns = names } }

// Only leaves nothing in a row but the columns that the function returns.
func Only() Option { return func(p *Params) { p.Keep = false } }

// Takes says in what form the function gets a batch: batch, table, arrays, numpy, lists, pandas or row.
func Takes(form string) Option { return func(p *Params) { p.Takes = form } }

// Arg adds a keyword argument; its value must be something that JSON can say.
func Arg(name string, value any) Option {
	return func(p *Params) {
		if p.Args == nil {
			p.Args = Args{}
		}
		p.Args[name] = value
	}
}

// Batch is the most rows of a call.
func Batch(rows int) Option { return func(p *Params) { p.Batch = rows } }

// Processes is the most host processes.
func Processes(n int) Option { return func(p *Params) { p.Processes = n } }

// Concurrency is how many rows an asynchronous function that takes rows works on at once.
func Concurrency(rows int) Option { return func(p *Params) { p.Concurrency = rows } }

// Timeout is the longest that a call may take before its process is killed.
func Timeout(d time.Duration) Option { return func(p *Params) { p.Timeout = d } }

// StartTimeout is the longest that importing the module and making the object may take.
func StartTimeout(d time.Duration) Option { return func(p *Params) { p.StartTimeout = d } }

// Memory is the most memory that one process may take before it is killed.
func Memory(bytes int64) Option { return func(p *Params) { p.Memory = dataset.ByteSize(bytes) } }

// Venv names the virtual environment, or the interpreter, of the host processes.
func Venv(path string) Option { return func(p *Params) { p.Venv = path } }

// Path adds folders to import from, before the current one.
func Path(folders ...string) Option { return func(p *Params) { p.Path = append(p.Path, folders...) } }

// Nondeterministic says that the function may give other results for the same batch.
func Nondeterministic() Option { return func(p *Params) { p.Nondeterministic = true } }

// Def makes the step known by name.
var Def = dataset.Define(dataset.Def{
	Name: "python",
	Doc:  "call a class or function written in Python on batches of rows",
	Help: "The class is made once in each host process, with args as keyword arguments; its __call__ or process gets a batch and returns columns: a record batch, a table, or " +
		"a dict of arrays, numpy arrays or lists. They are added to the row, in place of columns of the same names. The module needs pyarrow and nothing of ours. Which columns it " +
		"returns it says in an attribute, schema = {\"score\": \"float64\"}, or schema= does. A generator gives pairs (number of the input row, new row); a parameter called row " +
		"gets one row as a dict. A batch that fails is divided until the rows that make it fail are found, also when the process crashes or hangs. Print goes to the log. docs/python.md has " +
		"all of it.",
	Example: "python scorer:Scorer columns=text args=\"model:small\" processes=4",
}, defaults, func(p Params) (dataset.Spec, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	return newSpec(p, ""), nil
})

// Register adds the step to a registry.
func Register(reg *dataset.Registry) error {
	if err := reg.AddOperators(Def); err != nil {
		return fmt.Errorf("register python: %w", err)
	}
	return nil
}
