package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// flags are what the user set, the same for every command.
type flags struct {
	memory      sizeFlag
	parallel    int
	onError     string
	maxErrors   int64
	maxRate     rateFlag
	overwrite   bool
	appendRows  bool
	incremental bool
	changed     string
	grown       string
	ordered     bool
	seed        seedFlag
	quiet       bool
	partSize    sizeFlag
	commitEvery time.Duration
	tempDir     string
	tempLimit   sizeFlag
	from, to    string
	set         []string
	see         seeFlags
	log         string
	isolate     bool
	isolateTime time.Duration
}

// sizeFlag is a size in bytes with a unit.
type sizeFlag struct{ bytes dataset.ByteSize }

func (s *sizeFlag) String() string {
	if s.bytes == 0 {
		return ""
	}
	return s.bytes.String()
}
func (s *sizeFlag) Set(v string) error { return s.bytes.UnmarshalText([]byte(v)) }
func (s *sizeFlag) Type() string       { return "SIZE" }

// rateFlag is a share: 1% or 0.01.
type rateFlag struct{ share float64 }

func (r *rateFlag) String() string {
	if r.share == 0 {
		return ""
	}
	return strconv.FormatFloat(100*r.share, 'g', -1, 64) + "%"
}
func (r *rateFlag) Type() string { return "SHARE" }
func (r *rateFlag) Set(v string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(v), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x > 0 && x <= 1) {
		return errors.New("want a share above 0 and up to 100%, such as 1% or 0.01")
	}
	r.share = x
	return nil
}

// seedFlag remembers whether it was given.
type seedFlag struct {
	value uint64
	given bool
}

func (s *seedFlag) String() string { return "" }
func (s *seedFlag) Type() string   { return "N" }
func (s *seedFlag) Set(v string) error {
	var p struct {
		Seed uint64 `json:"seed"`
	}
	if err := dataset.ParamsFromMap(map[string]any{"seed": v}, &p); err != nil {
		return err
	}
	s.value, s.given = p.Seed, true
	return nil
}

func (f *flags) register(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.Var(&f.memory, "memory", "memory budget, such as 2GiB (default 60 % of what the machine or container has)")
	fs.IntVar(&f.parallel, "parallel", 0, "compute with `N` tasks at the same time (default the number of CPUs)")
	fs.StringVar(&f.onError, "on-error", "fail", "`POLICY` for failing rows: fail, skip (leave out and count), or dead-letter (keep beside the result; exit code 3)")
	fs.Int64Var(&f.maxErrors, "max-errors", 0, "end the run when more than `N` rows failed (with skip or dead-letter; default no ceiling)")
	fs.Var(&f.maxRate, "max-error-rate", "end the run when a larger share of the rows read failed, such as 1%, from row 1,000 on and at the end")
	fs.BoolVar(&f.overwrite, "overwrite", false, "replace what the target holds")
	fs.BoolVar(&f.appendRows, "append", false, "add to what the target holds")
	fs.BoolVar(&f.incremental, "incremental", false, "read only files that no run has read for the target before, and add their rows")
	fs.StringVar(&f.changed, "changed", "", "with --incremental, `WHAT` to do about files that changed since: fail or skip (default fail)")
	fs.StringVar(&f.grown, "grown", "", "with --incremental, `WHAT` to read of text files that only grew since: tail (default: they count as changed)")
	fs.BoolVar(&f.ordered, "ordered", false, "write rows in the order of the source")
	fs.Var(&f.seed, "seed", "seed of sample and shuffle; with --ordered the result is the same to the byte")
	fs.BoolVar(&f.quiet, "quiet", false, "only errors on standard error")
	fs.Var(&f.partSize, "part-size", "largest file of a result (default 512MiB)")
	fs.DurationVar(&f.commitEvery, "commit-every", 0, "commit finished rows every `TIME` (default 1m0s)")
	fs.StringVar(&f.tempDir, "temp-dir", "", "spill to `FOLDER` what does not fit in memory (default beside a local target)")
	fs.Var(&f.tempLimit, "temp-limit", "most bytes in --temp-dir (default no limit)")
	fs.StringVar(&f.from, "from", "", "read the source with `READER`, whatever its extension")
	fs.StringVar(&f.to, "to", "", "write with `WRITER`, whatever the extension; table prints a table")
	fs.StringVar(&f.log, "log", "", "add rare events, what Python functions print, and their tracebacks to `FILE`")
	fs.BoolVar(&f.isolate, "isolate", false, "decoders and models in child processes: a file that crashes or hangs one is then a row that fails")
	fs.DurationVar(&f.isolateTime, "isolate-timeout", 0, "with --isolate, how much `TIME` one file may take (default 1m0s)")
	f.see.register(fs)
	fs.StringArrayVar(&f.set, "set", nil, "placeholder {NAME} of a job file: `NAME=VALUE`")
}

// settings checks the flags and turns them into settings of the session.
func (f *flags) settings(command string) (Settings, error) {
	var o dataset.Options
	switch policy := dataset.ErrorPolicy(f.onError); policy {
	case dataset.OnErrorFail, dataset.OnErrorSkip, dataset.OnErrorDeadLetter:
		o.OnError = policy
	default:
		return Settings{}, dataset.Usagef("--on-error is %q, want fail, skip or dead-letter%s", f.onError,
			dataset.DidYouMean(f.onError, []string{"fail", "skip", "dead-letter"}))
	}
	if err := f.incrementally(&o); err != nil {
		return Settings{}, err
	}
	o.MaxErrors, o.MaxErrorRate = f.maxErrors, f.maxRate.share
	switch {
	case f.maxErrors < 0:
		return Settings{}, dataset.Usagef("--max-errors is %d, want 1 or more; --on-error fail ends the run at the first failing row", f.maxErrors)
	case o.OnError == dataset.OnErrorFail && (f.maxErrors > 0 || f.maxRate.share > 0):
		return Settings{}, dataset.Usagef("--max-errors and --max-error-rate are ceilings for --on-error skip and dead-letter; with fail, the first failing row ends the run")
	}
	switch {
	case f.overwrite && f.appendRows:
		return Settings{}, dataset.Usagef("--overwrite and --append exclude each other")
	case f.overwrite:
		o.Target = dataset.TargetOverwrite
	case f.appendRows:
		o.Target = dataset.TargetAppend
	}
	if f.parallel < 0 {
		return Settings{}, dataset.Usagef("--parallel is %d, want 1 or more", f.parallel)
	}
	if f.commitEvery < 0 {
		return Settings{}, dataset.Usagef("--commit-every is %s, want a positive duration", f.commitEvery)
	}
	if f.isolateTime < 0 || f.isolateTime > 0 && !f.isolate {
		return Settings{}, dataset.Usagef("--isolate-timeout is %s: it is a positive duration, and for --isolate", f.isolateTime)
	}
	o.Isolate, o.IsolateTimeout = f.isolate, f.isolateTime
	o.Ordered, o.Seed, o.SeedSet = f.ordered, f.seed.value, f.seed.given
	o.PartBytes, o.CommitEvery, o.Command = int64(f.partSize.bytes), f.commitEvery, command
	return Settings{MemoryBytes: int64(f.memory.bytes), Parallel: f.parallel, TempDir: f.tempDir, TempLimit: int64(f.tempLimit.bytes),
		Options: o}, nil
}

// incrementally reads the flags of incremental runs.
func (f *flags) incrementally(o *dataset.Options) error {
	o.Incremental = f.incremental
	o.Changed, o.Grown = dataset.ChangedPolicy(f.changed), dataset.GrownPolicy(f.grown)
	switch {
	case !f.incremental && f.changed != "":
		return dataset.Usagef("--changed is for --incremental")
	case !f.incremental && f.grown != "":
		return dataset.Usagef("--grown is for --incremental")
	case f.incremental && f.overwrite:
		return dataset.Usagef("--incremental and --overwrite exclude each other")
	case f.incremental && f.appendRows:
		return dataset.Usagef("--incremental and --append exclude each other")
	case f.changed != "" && o.Changed != dataset.ChangedFail && o.Changed != dataset.ChangedSkip:
		return dataset.Usagef("--changed is %q, want fail or skip%s", f.changed, dataset.DidYouMean(f.changed, []string{"fail", "skip"}))
	case f.grown != "" && o.Grown != dataset.GrownTail:
		return dataset.Usagef("--grown is %q, want tail%s", f.grown, dataset.DidYouMean(f.grown, []string{"tail"}))
	}
	return nil
}

// values reads the --set flags.
func (f *flags) values() (map[string]string, error) {
	out := map[string]string{}
	for _, s := range f.set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || !pipeline.ValidName(name) {
			return nil, dataset.Usagef("--set %s: want name=value", s)
		}
		if _, dup := out[name]; dup {
			return nil, dataset.Usagef("--set %s: the placeholder {%s} is set twice", s, name)
		}
		out[name] = value
	}
	return out, nil
}
