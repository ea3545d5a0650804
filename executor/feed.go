package executor

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

// sourcesOf lists the source stages that feed a sink, inputs from left to right: an order that depends on the sink's own plan alone. The
// origins are what identities call them.
func (r *run) sourcesOf(sink *stage) (sources []*stage, origins []uint32) {
	seen := map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, from := range r.stages[i].Inputs {
			visit(from)
		}
		if s := r.stages[i]; s.Source != nil {
			sources, origins = append(sources, s), append(origins, s.Origin)
		}
	}
	visit(int(sink.id))
	return sources, origins
}

// inputsOf lists the files of source stages, numbered by their place in the list.
func inputsOf(ctx context.Context, sources []*stage) func() iter.Seq2[commit.Input, error] {
	numbered := make([]commit.NumberedSource, len(sources))
	for i, s := range sources {
		numbered[i] = commit.NumberedSource{ID: uint32(i), Source: s.Source}
	}
	return func() iter.Seq2[commit.Input, error] { return commit.ListNumbered(ctx, numbered) }
}

// reach is how the rows of stages come to a sink.
type reach struct {
	fed     map[int]bool // at all
	direct  map[int]bool // by a way without a barrier, so with their identities
	behind  map[int]bool // by a way through a barrier
	limited map[int]bool // directly, through a step that counts or compares rows: which ones arrive depends on those before
}

// reach follows the rows of a sink upstream.
func (r *run) reach(sink *stage) reach {
	out := reach{map[int]bool{}, map[int]bool{}, map[int]bool{}, map[int]bool{}}
	type state struct {
		stage           int
		behind, limited bool
	}
	seen := map[state]bool{}
	var visit func(at state)
	visit = func(at state) {
		if seen[at] {
			return
		}
		seen[at] = true
		out.fed[at.stage] = true
		switch {
		case at.behind:
			out.behind[at.stage] = true
		default:
			out.direct[at.stage] = true
			out.limited[at.stage] = out.limited[at.stage] || at.limited
		}
		s := r.stages[at.stage]
		for _, from := range s.Inputs {
			visit(state{from, at.behind || s.Sched.Barrier, at.limited || s.startsOver()})
		}
	}
	visit(state{stage: int(sink.id)})
	return out
}

// startsOver tells whether a step of the stage keeps something from row to row, so that it must see all rows again after a crash.
func (s *stage) startsOver() bool {
	for _, n := range s.Ops {
		if rs, ok := n.Spec.(dataset.Resizer); ok && rs.ResizesBlocks() {
			continue
		}
		if _, ok := n.Spec.(dataset.Limiter); ok || n.Spec.Instances() != dataset.Any || wantsOrder(n.Spec) {
			return true
		}
	}
	return false
}

// deferredFor tells which identities must not commit before the end: those of barriers, of sources seen only through one, and of
// sources whose rows a limit or the like chooses.
func (r *run) deferredFor(sink *stage) func(uint32) bool {
	way := r.reach(sink)
	eager := map[uint32]bool{}
	for i, s := range r.stages {
		if s.Source != nil && way.direct[i] && !way.limited[i] {
			eager[s.Origin] = true
		}
	}
	return func(source uint32) bool { return !eager[source] }
}

// openFeeds makes the feed of every source that a target depends on.
func (r *run) openFeeds() error {
	var ways []reach
	for _, s := range r.stages {
		if s.Yield || s.target != nil && s.target.manager != nil && !s.target.manager.Ended() {
			way := r.reach(s)
			if s.Yield {
				way.behind = way.fed // a consumer that keeps no log wants every row
			}
			ways = append(ways, way)
		}
	}
	for i, s := range r.stages {
		if s.Source == nil || len(s.managers) == 0 {
			continue
		}
		reread := slices.ContainsFunc(ways, func(w reach) bool { return w.behind[i] })
		var err error
		if s.feed, err = commit.NewFeed(s.Origin, s.managers, reread); err != nil {
			return err
		}
	}
	return nil
}

// route finds, for every stage, the managers that its rows can reach, before the run begins.
func (r *run) route() {
	for _, t := range r.targets {
		if t.manager == nil {
			continue
		}
		way := r.reach(t.stage)
		for i, s := range r.stages {
			if way.fed[i] && s.Sink == nil {
				s.managers = append(s.managers, t.manager)
			}
		}
	}
	for _, s := range r.stages {
		managers := s.managers
		switch len(managers) {
		case 0:
		case 1:
			s.drained = managers[0].Drained
		default:
			s.drained = func(t *block.Token) {
				for _, m := range managers {
					m.Drained(t)
				}
			}
		}
	}
}

// newToken makes a token for rows that begin at stage s.
func (r *run) newToken(s *stage, ranges []block.Range) *block.Token {
	t := block.NewToken(ranges, s.drained)
	if len(s.managers) > 0 {
		t.State = commit.NewTokenState(len(r.targets))
	}
	return t
}

// number gives the files of a split their identities, where no target does.
func (s *stage) number(sp *dataset.Split) {
	for i := range sp.Ranges {
		g := &sp.Ranges[i]
		if last := s.list.last; last != nil && last.Path == g.File.Path {
			g.ID = last
			continue
		}
		g.ID = &block.File{Source: s.Origin, Ordinal: s.list.files, Path: g.File.Path}
		s.list.last = g.ID
		s.list.files++
	}
}

// splits gives what is to be read of a source, in order.
func (s *stage) splits(ctx context.Context) iter.Seq2[dataset.Split, error] {
	if s.feed != nil {
		return s.feed.Splits(ctx, s.Source)
	}
	return func(yield func(dataset.Split, error) bool) {
		for sp, err := range s.Source.Splits(ctx, dataset.Cursor{}) {
			s.number(&sp)
			if !yield(sp, err) {
				return
			}
		}
	}
}

// noteSkipped tells what sources did not have to read for the sake of filters.
func (r *run) noteSkipped() {
	for _, s := range r.stages {
		if k, ok := s.Source.(dataset.Skipper); ok {
			if line := k.Skipped(); line != "" {
				r.plan.Report.Notes = append(r.plan.Report.Notes, s.Name+": "+line)
			}
		}
	}
}

// noteResumed tells what earlier attempts had done.
func (r *run) noteResumed() {
	for _, t := range r.targets {
		if t.manager == nil {
			continue
		}
		was := t.manager.Resumed()
		switch {
		case t.manager.Ended():
			r.plan.Report.Notes = append(r.plan.Report.Notes, fmt.Sprintf("resumed run %s of %s: every row was committed before", was.Run, place(t.stage.Sink)))
		case was.Run != "":
			r.plan.Report.Notes = append(r.plan.Report.Notes, fmt.Sprintf("resumed run %s of %s: %d of %d ranges were committed before",
				was.Run, place(t.stage.Sink), was.Done, was.Ranges))
		}
	}
}
