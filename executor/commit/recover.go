package commit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// recover looks at what killed runs left: a run that has a finish record is published to its end, others are remembered.
func (p *preparation) recover(ctx context.Context) error {
	runs, err := openRuns(ctx, p.store.List)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := p.recoverRun(ctx, run); err != nil {
			return fmt.Errorf("recover run %s: %w", run, err)
		}
	}
	return nil
}

// openRuns returns the runs that left a log or staged files and are not marked as published, oldest first.
func openRuns(ctx context.Context, list func(context.Context, string) ([]string, error)) ([]string, error) {
	names, err := list(ctx, "")
	if err != nil {
		return nil, err
	}
	var runs []string
	done := map[string]bool{}
	for _, n := range names {
		run, rest, _ := strings.Cut(n, "/")
		switch {
		case rest == "published":
			done[run] = true
		case (strings.HasPrefix(rest, "log/") || strings.HasPrefix(rest, "stage/")) && (len(runs) == 0 || runs[len(runs)-1] != run):
			runs = append(runs, run)
		}
	}
	return slices.DeleteFunc(runs, func(r string) bool { return done[r] }), nil
}

func (p *preparation) recoverRun(ctx context.Context, run string) error {
	var finish *finishRecord
	generations, splits := 0, 0
	_, _, err := readLog(ctx, p.store, run, func(k kind, payload []byte) error {
		switch k {
		case kindGeneration:
			generations++
		case kindSplits:
			splits++
		case kindFinish:
			finish = &finishRecord{}
			if err := json.Unmarshal(payload, finish); err != nil {
				return fmt.Errorf("read finish record: %w", err)
			}
		}
		return nil
	})
	if err != nil && !p.overwriting() {
		return err
	}
	if finish != nil {
		if err := publish(ctx, p.target, p.store, finish); err != nil {
			if !p.overwriting() || ctx.Err() != nil {
				return fmt.Errorf("%w; --overwrite begins anew", err)
			}
			p.notes = append(p.notes, fmt.Sprintf("run %s had ended, but its result could not be published: %v", run, err))
			p.unfinished = append(p.unfinished, unfinished{run, generations, splits})
			return nil
		}
		p.notes = append(p.notes, fmt.Sprintf("run %s had ended before its result was published; that was done now", run))
		p.forced = finish.Manifest.Mode == string(p.cfg.Options.Target) && finish.Manifest.Fingerprint == Fingerprint(p.cfg.Plan)
		return p.sameAsNow(finish.Manifest)
	}
	p.unfinished = append(p.unfinished, unfinished{run, generations, splits})
	return nil
}

// unfinished is a run that has no finish record.
type unfinished struct {
	run                 string
	generations, splits int
}

// discard removes what unfinished runs left, when it is decided that this run begins.
func (p *preparation) discard(ctx context.Context) error {
	for _, u := range p.unfinished {
		// The log goes first, from its end: at no moment does it name parts that are gone.
		if err := removeLog(ctx, p.store, u.run); err != nil {
			return err
		}
		if err := p.target.Discard(ctx, u.run); err != nil {
			return err
		}
		if u.generations+u.splits > 0 {
			p.notes = append(p.notes, fmt.Sprintf("the unfinished run %s was discarded (%d committed generations); this run begins anew",
				u.run, u.generations))
		}
	}
	return nil
}

// sameAsNow makes an overwrite that recovery completed count as this one only if it read the same files.
func (p *preparation) sameAsNow(m *Manifest) error {
	if !p.forced || !p.overwriting() {
		p.forced = false
		return nil
	}
	if p.cfg.Inputs == nil {
		p.forced = false
		return nil
	}
	var err error
	p.forced, err = sameInputs(m.Inputs, p.cfg.Inputs())
	return err
}
