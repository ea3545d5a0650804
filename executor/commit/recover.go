package commit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
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
	u, err := loadLog(ctx, p.store, run)
	if err != nil {
		if !p.overwriting() {
			return err
		}
		u.begun = false // it can only be discarded
	}
	if u.finish == nil {
		p.unfinished = append(p.unfinished, u)
		return nil
	}
	if err := publish(ctx, p.target, p.store, u.finish); err != nil {
		if !p.overwriting() || ctx.Err() != nil {
			return fmt.Errorf("%w; --overwrite begins anew", err)
		}
		p.notes = append(p.notes, fmt.Sprintf("run %s had ended, but its result could not be published: %v", run, err))
		u.begun = false
		p.unfinished = append(p.unfinished, u)
		return nil
	}
	p.notes = append(p.notes, fmt.Sprintf("run %s had ended before its result was published; that was done now", run))
	p.forced = u.finish.Manifest.Mode == asked(p.cfg.Options) && u.finish.Manifest.Fingerprint == Fingerprint(p.cfg.Plan)
	return p.sameAsNow(u.finish.Manifest)
}

// findResumable looks among the unfinished runs for the one to go on with. One that has committed rows and is another command's is
// refused, unless it is to be overwritten.
func (p *preparation) findResumable(ctx context.Context) error {
	if p.forced {
		return nil
	}
	for _, u := range slices.Backward(p.unfinished) {
		if !u.begun || u.generations == 0 || u.begin.Retries != "" { // rows to be tried again are still set aside
			continue
		}
		reason := p.differs(u)
		if reason == "" {
			p.resumes = u
			return p.restage(ctx, u)
		}
		if !p.overwriting() {
			return dataset.Usagef("write %s: it holds the unfinished run %s of another command (%d parts are committed):\n  %s\nrun that command again to finish it, replace it with --overwrite, or write elsewhere",
				p.target.Locator(), u.run, len(u.parts), reason)
		}
	}
	return nil
}

// differs says why u is no unfinished run of this command, or "".
func (p *preparation) differs(u *past) string {
	was, is := u.begin.Target, asked(p.cfg.Options)
	started := DecisionKind(u.begin.Mode) == Fresh && was != string(dataset.TargetOverwrite) && !p.overwriting()
	var last uint64
	if p.chain.Last != nil {
		last = p.chain.Last.Number
	}
	switch {
	case u.begin.Fingerprint != Fingerprint(p.cfg.Plan):
		return strings.Join(diffPlans(u.begin.Plan, p.cfg.Plan), "\n  ")
	case was != is && !started:
		return fmt.Sprintf("it was begun %s, this command is %s", modeName(was), modeName(is))
	case !slices.Equal(u.begin.Schema, schemaLines(p.cfg.Schema)):
		return fmt.Sprintf("its rows have the columns %s, now they are %s", strings.Join(u.begin.Schema, ", "), strings.Join(schemaLines(p.cfg.Schema), ", "))
	case !slices.Equal(u.begin.Sources, p.cfg.Sources):
		return "it wrote other results at the same time, by which its inputs were numbered"
	case u.begin.Previous != last:
		return fmt.Sprintf("it was begun on manifest %d, the last one is %d", u.begin.Previous, last)
	}
	return ""
}

func modeName(target string) string {
	if target == "" {
		return "without --append, --incremental or --overwrite"
	}
	return "with --" + target
}

// restage checks that the committed parts of u are still there, and warns about what differs without harm.
func (p *preparation) restage(ctx context.Context, u *past) error {
	if u.begin.Backends != p.cfg.Backends {
		p.notes = append(p.notes, fmt.Sprintf("run %s began with other decoders (%s, now %s): pictures may differ in single bits between its parts",
			u.run, u.begin.Backends, p.cfg.Backends))
	}
	r, ok := p.target.(Restager)
	if !ok {
		return nil
	}
	missing, err := r.Restage(ctx, u.run, u.parts)
	if err != nil {
		return p.wrap(err)
	}
	if len(missing) == 0 {
		return nil
	}
	if p.overwriting() {
		p.resumes = nil
		return nil
	}
	return dataset.Usagef("write %s: of the %d parts that the unfinished run %s had committed, %d are gone or damaged (%s); begin anew with --overwrite",
		p.target.Locator(), len(u.parts), u.run, len(missing), nameSome(missing))
}

// discard removes what other unfinished runs left, when it is decided that this one begins.
func (p *preparation) discard(ctx context.Context) error {
	for _, u := range p.unfinished {
		if u == p.resumes {
			continue
		}
		if err := discardRun(ctx, p.target, p.store, u.run); err != nil {
			return err
		}
		switch {
		case u.generations > 0:
			p.notes = append(p.notes, fmt.Sprintf("the unfinished run %s was discarded (%d parts were committed); this run begins anew", u.run, len(u.parts)))
		case u.splits > 0:
			p.notes = append(p.notes, fmt.Sprintf("the unfinished run %s had committed nothing%s; this run starts over", u.run, p.lateNote()))
		}
	}
	return nil
}

// lateNote explains why nothing was committed.
func (p *preparation) lateNote() string {
	for _, s := range p.cfg.Sources {
		if !p.cfg.Deferred(s) {
			return ""
		}
	}
	if len(p.cfg.Sources) == 0 {
		return ""
	}
	return " (rows behind a sort, a group, a join or a limit are committed at the end)"
}

// discardRun removes an unfinished run. The log goes first, from its end: at no moment does it name parts that are gone.
func discardRun(ctx context.Context, target dataset.Target, store dataset.Storage, run string) error {
	if err := removeLog(ctx, store, run); err != nil {
		return err
	}
	return target.Discard(ctx, run)
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
