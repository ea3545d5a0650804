package commit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// Retry says that a run tries the failed rows of another one again: it adds to the result whatever it is compared with.
type Retry struct {
	Run string // the run that was begun with a command of its own
	At  uint64 // number of the last manifest when its dead letters were read
}

// ErrMovedOn refuses a retry on a result to which a run was added since the failed rows were read; a killed retry may have been published.
var ErrMovedOn = errors.New("another run ended meanwhile")

// Leftover is what is set aside of a run and waits to be tried again.
type Leftover struct {
	Root *RunSummary // the run, whose plan and sources it is about
	Held *RunSummary // who has the dead letters: the run itself, or the last one that tried them again
	Last uint64      // number of the last manifest
}

// FindLeftover finds the failed rows of a run that wait to be tried again. run is an id, also of a retry, or "" where the target has
// failed rows of one run only. Nil means that nothing waits.
func FindLeftover(ctx context.Context, store dataset.Storage, run string) (*Leftover, error) {
	all, err := Summaries(ctx, store)
	if err != nil {
		return nil, err
	}
	byRun := map[string]*RunSummary{}
	var last uint64
	for _, r := range all {
		if byRun[r.Run] = r; r.Finished {
			last = r.Manifest.Number
		}
	}
	if run != "" {
		r := byRun[run]
		switch {
		case r == nil:
			return nil, dataset.Usagef("there is no run %s on this result", run)
		case !r.Finished:
			return nil, dataset.Usagef("run %s did not finish: run its command again first", run)
		case r.Replaced:
			return nil, dataset.Usagef("the rows of run %s were replaced by a later run: there is nothing to add failed rows to", run)
		}
		if r.Manifest.Retries != "" {
			run = r.Manifest.Retries
		}
	}
	var found []*Leftover
	var names []string
	for _, r := range all {
		if !r.Finished || r.Replaced || r.RetriedBy != "" || r.DeadRows() == 0 {
			continue
		}
		l := &Leftover{Root: r, Held: r, Last: last}
		if r.Manifest.Retries != "" {
			l.Root = byRun[r.Manifest.Retries]
		}
		if l.Root != nil && (run == "" || l.Root.Run == run) {
			found = append(found, l)
			names = append(names, l.Root.Run)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	if len(found) > 1 {
		return nil, dataset.Usagef("%d runs have failed rows on this result; name one of them: %s", len(found), strings.Join(names, ", "))
	}
	return found[0], nil
}

// decideRetry accepts a retry only on the result that its dead letters were read from.
func (p *preparation) decideRetry(ctx context.Context) (DecisionKind, error) {
	last := p.chain.Last
	if last == nil || last.Number != p.cfg.Retry.At {
		return "", &dataset.UsageError{Err: fmt.Errorf("retry run %s: %w on %s; try again", p.cfg.Retry.Run, ErrMovedOn, p.target.Locator())}
	}
	if len(p.chain.Live) > 0 {
		gone, err := p.verify(ctx)
		if err != nil {
			return "", err
		}
		if gone {
			return "", dataset.Usagef("retry run %s: the files of %s are gone: there is nothing to add failed rows to; run the command itself",
				p.cfg.Retry.Run, p.target.Locator())
		}
	}
	for _, u := range p.unfinished {
		if u.begun && u.generations > 0 && u.begin.Retries == "" {
			return "", dataset.Usagef("retry run %s: %s holds the unfinished run %s; run its command again to finish it first", p.cfg.Retry.Run, p.target.Locator(), u.run)
		}
	}
	was, is := strings.Join(last.Schema, ", "), strings.Join(schemaLines(p.cfg.Schema), ", ")
	if was != is {
		return "", dataset.Usagef("retry run %s: %s has the columns %s; the pipeline gives %s: operators may differ, the columns of the result may not",
			p.cfg.Retry.Run, p.target.Locator(), was, is)
	}
	return Append, nil
}

// asRetry makes the manifest of a retry stand for the command that came before it: that one is still complete, with the same inputs.
func (m *Manager) asRetry(out *Manifest) {
	last := m.chain.Last
	out.Retries, out.Mode = m.cfg.Retry.Run, "retry"
	out.Fingerprint, out.Plan, out.Command, out.Inputs = last.Fingerprint, last.Plan, last.Command, last.Inputs
	out.InputsRun, out.NextOrdinal = last.inputsRun(), last.NextOrdinal
}

// fingerprint of the run's command. A retry is nobody's same command again.
func (c Config) fingerprint() string {
	if c.Retry == nil {
		return Fingerprint(c.Plan)
	}
	return Fingerprint(fmt.Appendf(nil, "retry %s %s", c.Retry.Run, c.Plan))
}

// StoredPlan is a canonical plan that was read.
type StoredPlan struct {
	raw     []byte
	sources []any
	Ordered bool
	Seed    uint64
	SeedSet bool
}

// ReadPlan reads a canonical plan, also one that a manifest indented.
func ReadPlan(raw []byte) (*StoredPlan, error) {
	flat, err := Canonical(json.RawMessage(raw))
	if err != nil {
		return nil, err
	}
	var p struct {
		Steps   []map[string]any `json:"steps"`
		Ordered bool             `json:"ordered"`
		Seed    *uint64          `json:"seed"`
	}
	if err := decode(flat, &p); err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	out := &StoredPlan{raw: flat, Ordered: p.Ordered}
	if p.Seed != nil {
		out.Seed, out.SeedSet = *p.Seed, true
	}
	for _, s := range p.Steps {
		if s["source"] != nil {
			out.sources = append(out.sources, s)
		}
	}
	return out, nil
}

// Sources is how many sources the plan has.
func (p *StoredPlan) Sources() int { return len(p.sources) }

// DiffSources says in lines what another plan reads otherwise.
func (p *StoredPlan) DiffSources(is *StoredPlan) []string {
	d := &differ{}
	if len(p.sources) != len(is.sources) {
		d.add("sources", "were %d, are %d", len(p.sources), len(is.sources))
		return d.lines
	}
	for i, s := range p.sources {
		d.compare(stepName(s), s, is.sources[i])
	}
	return d.lines
}

// Changed says in lines what an output computes otherwise than the plan says, under the plan's order and seed. Nothing means that they
// are the same.
func (p *StoredPlan) Changed(ctx context.Context, out dataset.Output) ([]string, error) {
	is, err := Plan(ctx, out, dataset.NewSchemas(), dataset.Options{Ordered: p.Ordered, Seed: p.Seed, SeedSet: p.SeedSet})
	if err != nil || bytes.Equal(p.raw, is) {
		return nil, err
	}
	return diffPlans(p.raw, is), nil
}
