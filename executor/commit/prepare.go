package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// DecisionKind is what a run does to its target.
type DecisionKind string

// The kinds.
const (
	Fresh     DecisionKind = "fresh"     // the target is empty, or everything that was listed is gone
	Append    DecisionKind = "append"    // the rows are added
	Overwrite DecisionKind = "overwrite" // the rows replace what is there, at the end
	Complete  DecisionKind = "complete"  // there is nothing to do: this command has finished before
	// Incremental: the rows of files that the chain has not read are added.
	Incremental DecisionKind = "incremental"
	// Resume: an unfinished run of this command goes on, in the way that it began.
	Resume DecisionKind = "resume"
)

// Decision is what Prepare found and decided.
type Decision struct {
	Kind     DecisionKind
	Manifest *Manifest // Complete: of the run that finished
	Notes    []string  // what a person should know
}

// Report is the report of a target on which nothing had to be done.
func (d Decision) Report(target dataset.Target) dataset.TargetReport {
	r := dataset.TargetReport{Locator: target.Locator()}
	if d.Manifest != nil {
		fillReport(&r, d.Manifest)
	}
	return r
}

// preparation is the state of Look.
type preparation struct {
	cfg    Config
	target dataset.Target
	store  dataset.Storage
	chain  Chain
	notes  []string
	forced bool // an overwrite of this plan was published by recovery just now
	seen   *seenFiles

	unfinished []*past
	resumes    *past // one of unfinished
}

// Prospect is a target that was looked at and is locked. It ends with Begin or Leave.
type Prospect struct {
	Decision
	p       *preparation
	foreign []dataset.Receipt
	release func() error
}

// Look decides, before anything runs, what to do: it locks the target, publishes what an earlier run left decided, and compares the
// command with the last run. Refusals are *dataset.UsageError.
func Look(ctx context.Context, cfg Config) (*Prospect, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	p := &preparation{cfg: cfg}
	target, ok := cfg.Sink.(dataset.Target)
	if !ok {
		return &Prospect{Decision: Decision{Kind: Fresh}, p: p}, nil
	}
	p.target = target
	if p.store, err = target.State(ctx); err != nil {
		return nil, p.wrap(err)
	}
	p.store = stateOf(p.store)
	if err := p.lookFirst(ctx); err != nil {
		return nil, err
	}
	release, err := p.store.Lock(ctx, "lock", []byte(cfg.owner()))
	if err != nil {
		if held, ok := errors.AsType[*dataset.LockedError](err); ok {
			return nil, dataset.Usagef("write %s: another run is at work on it: %s; wait until it ends, or write elsewhere: %w",
				target.Locator(), held.Owner, err)
		}
		return nil, p.wrap(err)
	}
	out, err := p.locked(ctx)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	out.release = release
	return out, nil
}

// Run is the run that is to go on, or "".
func (t *Prospect) Run() string {
	if t.p.resumes == nil {
		return ""
	}
	return t.p.resumes.run
}

// Finished tells whether a run has finished on this target: a run of several sinks may have, while it is to go on for others.
func (t *Prospect) Finished(ctx context.Context, run string) (bool, error) {
	if t.p.target == nil {
		return false, nil
	}
	_, err := t.p.store.Read(ctx, run+"/published")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Leave gives the target back without a run.
func (t *Prospect) Leave() error {
	if t.release == nil {
		return nil
	}
	err := t.release()
	t.release = nil
	return err
}

// Begin begins the run, or goes on with the one that Run names. The Manager must be ended by Finish or Abort. After an error the target
// is given back.
func (t *Prospect) Begin(ctx context.Context, run string) (*Manager, error) {
	p := t.p
	p.cfg.Run = run
	m, err := newManager(p.cfg)
	if err != nil || p.target == nil {
		return m, errors.Join(err, t.Leave())
	}
	if err := t.begin(ctx, m); err != nil {
		return nil, errors.Join(p.wrap(err), t.Leave())
	}
	m.release, t.release = t.release, nil
	return m, nil
}

func (t *Prospect) begin(ctx context.Context, m *Manager) error {
	p := t.p
	if err := p.discard(ctx); err != nil {
		return err
	}
	t.Notes = p.notes
	if p.resumes != nil {
		return m.resume(ctx, p, p.resumes, t.foreign)
	}
	return m.begin(ctx, p, t.Kind, t.foreign)
}

// Prepare is Look and Begin: for a run with one sink. The Manager is nil where the decision is Complete; otherwise it must be ended by
// Finish or Abort.
func Prepare(ctx context.Context, cfg Config) (*Manager, Decision, error) {
	t, err := Look(ctx, cfg)
	if err != nil {
		return nil, Decision{}, err
	}
	if t.Kind == Complete {
		return nil, t.Decision, t.Leave()
	}
	m, err := t.Begin(ctx, cfg.Run)
	return m, t.Decision, err
}

func (p *preparation) wrap(err error) error {
	return fmt.Errorf("write %s: %w", p.target.Locator(), err)
}

// lookFirst refuses a place that holds somebody else's data before anything is written there.
func (p *preparation) lookFirst(ctx context.Context) error {
	if p.cfg.Options.Target == dataset.TargetOverwrite {
		return nil
	}
	names, err := p.store.List(ctx, "")
	if err != nil {
		return p.wrap(err)
	}
	if len(names) > 0 {
		return nil
	}
	foreign, err := p.target.Existing(ctx, nil)
	if err != nil {
		return p.wrap(err)
	}
	return p.refuseForeign(foreign)
}

func (p *preparation) refuseForeign(foreign []dataset.Receipt) error {
	if len(foreign) == 0 {
		return nil
	}
	return dataset.Usagef("write %s: it holds data that Sluice did not write there: %s; move it away, write elsewhere, or replace it with --overwrite",
		p.target.Locator(), nameSome(foreign))
}

// locked does the rest with the lock held.
func (p *preparation) locked(ctx context.Context) (*Prospect, error) {
	if err := p.recover(ctx); err != nil {
		return nil, p.wrap(err)
	}
	var err error
	if p.chain, err = ReadChain(ctx, p.store); err != nil {
		return nil, p.wrap(err)
	}
	out := &Prospect{p: p}
	if out.Kind, out.foreign, err = p.decide(ctx); err != nil {
		return nil, err
	}
	if out.Kind == Complete {
		out.Manifest = p.chain.Last
	}
	out.Notes = p.notes
	return out, nil
}

// decide compares what is there with what is asked for. foreign is data to be removed by an overwrite.
func (p *preparation) decide(ctx context.Context) (kind DecisionKind, foreign []dataset.Receipt, err error) {
	if p.cfg.Retry != nil {
		kind, err = p.decideRetry(ctx)
		return kind, nil, err
	}
	if len(p.chain.Live) > 0 {
		gone, err := p.verify(ctx)
		if err != nil {
			return "", nil, err
		}
		if gone {
			p.notes = append(p.notes, fmt.Sprintf("the files of the last run are gone from %s: it starts anew", p.target.Locator()))
			p.chain.Live = nil
		}
	}
	if err := p.findResumable(ctx); err != nil {
		return "", nil, err
	}
	if p.overwriting() {
		return p.decideOverwrite(ctx)
	}
	foreign, err = p.target.Existing(ctx, p.chain.Live)
	if err != nil {
		return "", nil, p.wrap(err)
	}
	if err := p.refuseForeign(foreign); err != nil {
		return "", nil, err
	}
	if p.resumes != nil {
		return Resume, nil, p.lookForSeen(ctx)
	}
	if len(p.chain.Live) == 0 {
		return Fresh, nil, nil
	}
	kind, err = p.compare(ctx)
	return kind, nil, err
}

// decideOverwrite finds what is to be replaced. An overwrite that recovery has just completed is not done again.
func (p *preparation) decideOverwrite(ctx context.Context) (DecisionKind, []dataset.Receipt, error) {
	if p.forced {
		return Complete, nil, nil
	}
	stale, err := p.target.Stale(ctx, p.chain.Live)
	if err != nil {
		return "", nil, p.wrap(err)
	}
	others, err := p.target.Existing(ctx, slices.Concat(p.chain.Live, stale))
	if err != nil {
		return "", nil, p.wrap(err)
	}
	if len(others) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s holds other files, which stay: %s", p.target.Locator(), nameSome(others)))
	}
	if p.resumes != nil {
		return Resume, stale, nil
	}
	if len(p.chain.Live)+len(stale) == 0 {
		return Fresh, nil, nil
	}
	return Overwrite, stale, nil
}

// verify checks the published files. gone is true if none is left.
func (p *preparation) verify(ctx context.Context) (gone bool, err error) {
	missing, differ, err := p.target.Verify(ctx, p.chain.Live)
	if err != nil {
		return false, p.wrap(err)
	}
	if len(missing) == len(p.chain.Live) {
		return true, nil
	}
	if p.cfg.Options.Target == dataset.TargetOverwrite || len(missing)+len(differ) == 0 {
		return false, nil
	}
	var parts []string
	if len(missing) > 0 {
		parts = append(parts, fmt.Sprintf("%d missing (%s)", len(missing), nameSome(missing)))
	}
	if len(differ) > 0 {
		parts = append(parts, fmt.Sprintf("%d changed (%s)", len(differ), nameSome(differ)))
	}
	return false, dataset.Usagef("write %s: of the %d files that earlier runs wrote, %s; restore them, or begin anew with --overwrite",
		p.target.Locator(), len(p.chain.Live), strings.Join(parts, " and "))
}

// compare decides about a target that holds a finished result.
func (p *preparation) compare(ctx context.Context) (DecisionKind, error) {
	last := p.chain.Last
	if p.cfg.Options.Incremental {
		return p.compareIncremental(ctx)
	}
	appending := p.cfg.Options.Target == dataset.TargetAppend
	var diff []string
	if last.Fingerprint == Fingerprint(p.cfg.Plan) {
		same := false
		var err error
		if p.cfg.Inputs != nil {
			if same, err = sameInputs(last.Inputs, p.cfg.Inputs()); err != nil {
				return "", p.wrap(err)
			}
		}
		if same {
			return Complete, nil
		}
		if !appending {
			if p.cfg.Inputs == nil {
				diff = []string{"inputs: they cannot be told from those of the last run"}
			} else if diff, err = diffInputs(ctx, p.store, last.inputsRun(), p.cfg.Inputs()); err != nil {
				return "", p.wrap(err)
			}
		}
	} else if !appending {
		diff = diffPlans(last.Plan, p.cfg.Plan)
	}
	if appending {
		return Append, p.sameColumns(last)
	}
	return "", dataset.Usagef("write %s: it holds the result of another command (run %s):\n  %s\nadd only what is new with --incremental, add all rows with --append, replace the result with --overwrite, or write elsewhere",
		p.target.Locator(), last.Run, strings.Join(diff, "\n  "))
}

// sameColumns refuses to join rows of other columns to one object.
func (p *preparation) sameColumns(last *Manifest) error {
	if _, ok := p.target.(dataset.Joiner); !ok || len(p.chain.Live) != 1 {
		return nil
	}
	was, is := strings.Join(last.Schema, ", "), strings.Join(schemaLines(p.cfg.Schema), ", ")
	if was == is {
		return nil
	}
	return dataset.Usagef("write %s: --append needs the same columns in the same order: it has %s; the new rows have %s", p.target.Locator(), was, is)
}

func nameSome(rs []dataset.Receipt) string {
	const most = 3
	out := ""
	for i, r := range rs {
		if i == most {
			return out + fmt.Sprintf(" and %d more", len(rs)-most)
		}
		if i > 0 {
			out += ", "
		}
		out += r.Name
	}
	return out
}

func (p *preparation) overwriting() bool { return p.cfg.Options.Target == dataset.TargetOverwrite }
