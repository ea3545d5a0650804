package commit

import (
	"github.com/sluice-data/sluice/dataset/block"
)

// TokenState is what the managers of a run keep with a token. The executor makes one for each token that it makes, for as many
// sinks as the run has; managers find their own by Config.Index.
type TokenState struct {
	sinks []binding
	one   [1]binding
}

// NewTokenState makes the state of a new token.
func NewTokenState(sinks int) *TokenState {
	s := &TokenState{}
	if sinks == 1 {
		s.sinks = s.one[:]
	} else {
		s.sinks = make([]binding, sinks)
	}
	return s
}

// NewToken makes a token that tells all managers when it is drained.
func NewToken(ranges []block.Range, managers []*Manager) *block.Token {
	t := block.NewToken(ranges, func(t *block.Token) {
		for _, m := range managers {
			m.Drained(t)
		}
	})
	t.State = NewTokenState(len(managers))
	return t
}

// binding says to which generations of one sink the rows of a token went. Its manager's lock guards it.
type binding struct {
	gen  *generation // of the first row; nil until one arrived
	more []cut       // where later generations begin, in an exact run; else empty
	high origin      // of its last row that arrived, in an exact run

	fails failTally
}

// cut is the position from which on a token's rows belong to the next generation.
type cut struct {
	gen  *generation
	file *block.File
	pos  uint64
}

func (b *binding) last() *generation {
	if n := len(b.more); n > 0 {
		return b.more[n-1].gen
	}
	return b.gen
}

func (m *Manager) binding(t *block.Token) *binding {
	if s, ok := t.State.(*TokenState); ok && m.cfg.Index < len(s.sinks) {
		return &s.sinks[m.cfg.Index]
	}
	return nil
}

// share calls f with each of the token's ranges and the generation that holds its rows. ok is false where a cut lies in no range.
func (b *binding) share(ranges []block.Range, f func(g *generation, r block.Range)) (ok bool) {
	g, cuts := b.gen, b.more
	for _, r := range ranges {
		for len(cuts) > 0 && cuts[0].file == r.File && cuts[0].pos >= r.First && cuts[0].pos < r.End {
			if cuts[0].pos > r.First {
				f(g, block.Range{File: r.File, First: r.First, End: cuts[0].pos})
			}
			r.First = cuts[0].pos
			g, cuts = cuts[0].gen, cuts[1:]
		}
		f(g, r)
	}
	return len(cuts) == 0
}
