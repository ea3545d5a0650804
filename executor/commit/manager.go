package commit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

var (
	errLostCut   = errors.New("internal error in commit: a cut lies outside the ranges of its token")
	errNoState   = errors.New("internal error in commit: a token has no state of package commit")
	errNumbering = errors.New("internal error in commit: the files of a source were numbered by this sink and by another one")
	errFrozen    = errors.New("internal error in commit: a run that had failed went on")
	errNoToken   = errors.New("internal error in commit: a row of a block belongs to none of its tokens")
)

// Manager commits the rows of one sink. Split, Listed, Drained and Tick may be called from any goroutine; Write from one goroutine a
// lane; then, after all of them, Finish or Abort once.
type Manager struct {
	cfg     Config
	exact   bool
	by      []int          // columns that partition, as indices of the schema
	target  dataset.Target // nil: a sink that cannot commit
	store   dataset.Storage
	release func() error
	log     *runLog
	kind    DecisionKind
	chain   Chain // what is live and is kept
	number  uint64
	foreign []dataset.Receipt // to be removed by an overwrite, with what was live
	seq     atomic.Uint64
	wake    chan struct{}
	stop    context.CancelFunc
	worker  sync.WaitGroup

	spool    spool
	deadNext uint64      // number of the next segment of dead letters; 0: not known yet; the committer's
	carried  deadSummary // of earlier attempts at the run

	past    *past               // what earlier attempts logged; nil in the first
	done    map[uint32]*doneSet // what they committed, by source number in the log; nil in the first
	ended   bool                // they committed everything
	resumed Resumed
	seen    *seenFiles // of an incremental run: what the chain has read

	mu struct {
		sync.Mutex
		err         error // first failure: nothing is committed after it
		ended       bool
		frozen      bool // see Freeze
		postponed   bool // exact runs: nothing more is committed before the end
		generations uint64
		ordered     uint64 // eager generations
		recordedUp  uint64 // ordered runs: all eager generations up to this one are recorded, or late
		current     [classes]*generation
		open        map[*generation]bool // neither ready nor committed
		ready       []*generation
		busy        int           // generations that the committer is at work on
		progress    chan struct{} // closed and renewed when the committer has done something
		lanes       [][]*openPart // by lane
		origins     [classes]origin
		plain       []dataset.Writer // of a sink that cannot commit, by lane
		committed   []dataset.Receipt
		deferred    []dataset.Receipt
		shift       map[uint32]uint64 // by source: what ordinals in the log exceed those of identities by
		held        []*madeGeneration // ordered runs: parts that are durable and wait for those of generations before them
		aside       int64             // dead letters of this attempt
		rest        failTally         // belongs to no generation that commits before the end
		fails       deadSummary       // recorded by this attempt
		recorded    int               // generation records that were begun
		finishing   bool              // the finish record was begun
	}

	in struct {
		sync.Mutex
		base    uint64 // first ordinal of the run, of every source
		sources map[uint32]*sourceState
	}
}

// sourceState is what the journal knows of one source. Its calls of Split do not overlap.
type sourceState struct {
	began  bool   // a file came in this attempt
	adopts bool   // another manager gives the identities
	known  bool   // shift is
	shift  uint64 // see Manager.mu.shift
	next   uint64 // file ordinal
	last   lastFile
	digest *inputDigest
	listed bool // the log says so
}

// lastFile is the file that was journaled last of a source: splits of one file follow each other.
type lastFile struct {
	ref     dataset.FileRef
	id      *block.File
	ordinal uint64
}

func newManager(cfg Config) (*Manager, error) {
	m := &Manager{cfg: cfg, exact: cfg.exact(), wake: make(chan struct{}, 1)}
	m.spool.scratch = cfg.Scratch
	m.mu.open = map[*generation]bool{}
	m.mu.progress = make(chan struct{})
	m.mu.lanes = make([][]*openPart, cfg.Lanes)
	m.in.sources = map[uint32]*sourceState{}
	m.mu.shift = map[uint32]uint64{}
	if p, ok := cfg.Sink.(dataset.Partitioned); ok {
		for _, name := range p.PartitionBy() {
			i, err := dataset.FieldIndex(cfg.Schema, name)
			if err != nil {
				return nil, fmt.Errorf("by=%s: %w", name, err)
			}
			m.by = append(m.by, i)
		}
	}
	return m, nil
}

// take sets what the preparation found.
func (m *Manager) take(p *preparation, kind DecisionKind, foreign []dataset.Receipt) {
	m.target, m.store, m.kind, m.chain, m.foreign, m.seen = p.target, p.store, kind, p.chain, foreign, p.seen
}

// adds tells whether the run adds to what is there.
func (m *Manager) adds() bool { return m.kind == Append || m.kind == Incremental }

// begin opens the log of the run and starts the committer.
func (m *Manager) begin(ctx context.Context, p *preparation, kind DecisionKind, foreign []dataset.Receipt) error {
	m.take(p, kind, foreign)
	m.number, m.cfg.attempt = 1, 1
	if last := p.chain.Last; last != nil {
		m.number = last.Number + 1
		if m.adds() {
			m.seq.Store(last.NextSeq)
			if m.in.base = last.NextOrdinal; m.cfg.Retry != nil {
				m.in.base = 0 // files come with the ordinals that they have
			}
		}
	}
	log, err := openRunLog(ctx, m.store, m.cfg.Run, 1, 0, logPoint{})
	if err != nil {
		return err
	}
	m.log = log
	if err := m.append(kindBegin, m.beginRecord(kind)); err != nil {
		return errors.Join(err, log.close(), removeLog(ctx, m.store, m.cfg.Run))
	}
	crashpoint("run begun")
	m.start(ctx)
	return nil
}

// start starts the committer.
func (m *Manager) start(ctx context.Context) {
	cctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	m.worker.Go(func() { m.commitLoop(cctx) })
}

// Split journals a split before it is opened, and sets the identities of its ranges. Where another manager of the run has set them
// already they are kept, and journaled under ordinals of this target's own. Calls for one source must not overlap.
func (m *Manager) Split(_ context.Context, source uint32, s *dataset.Split) error {
	m.in.Lock()
	defer m.in.Unlock()
	ordinals := make([]uint64, len(s.Ranges))
	for i := range s.Ranges {
		var err error
		if ordinals[i], err = m.identify(source, &s.Ranges[i]); err != nil {
			return m.fail(err)
		}
	}
	if m.target == nil {
		return nil
	}
	if err := m.log.split(m.own(source), s, ordinals); err != nil {
		return m.fail(err)
	}
	return nil
}

// source returns the state of a source. The journal's lock is held.
func (m *Manager) source(id uint32) *sourceState {
	own := m.own(id)
	s := m.in.sources[own]
	if s == nil {
		s = &sourceState{next: m.in.base, digest: newDigest(own), known: m.cfg.Retry != nil} // files of a retry have their ordinals
		m.in.sources[own] = s
	}
	return s
}

// identify sets the identity of a range and returns the ordinal of its file in this target. Ordinals count up for each source by
// itself, from one that the chain has not used for any.
func (m *Manager) identify(source uint32, r *dataset.SplitRange) (uint64, error) {
	s, adopts := m.source(source), r.ID != nil
	if !s.began {
		s.began, s.adopts = true, adopts
		if err := m.relate(source, s, r.ID); err != nil {
			return 0, err
		}
	}
	if adopts != s.adopts || adopts && r.ID.Source != source {
		return 0, errNumbering
	}
	if (s.last.id != nil || s.last.ref.Path != "") && sameRef(s.last.ref, r.File) && (!adopts || r.ID == s.last.id || r.ID.Ordinal+s.shift == s.last.ordinal) {
		if r.ID == nil && s.last.id == nil {
			s.last.id = &block.File{Source: source, Ordinal: s.last.ordinal - s.shift, Path: r.File.Path}
		}
		if !adopts {
			r.ID = s.last.id
		}
		return s.last.ordinal, nil
	}
	ordinal := s.next
	if adopts {
		ordinal = r.ID.Ordinal + s.shift
	} else {
		r.ID = &block.File{Source: source, Ordinal: ordinal - s.shift, Path: r.File.Path}
	}
	s.next = max(s.next, ordinal+1)
	s.last = lastFile{r.File, r.ID, ordinal}
	s.digest.add(r.File)
	return ordinal, nil
}

// relate settles, with the first file of a source, how the ordinals of this target's chain relate to those of identities: another
// manager may have given those out. It is logged, because identities must be the same in every attempt.
func (m *Manager) relate(source uint32, s *sourceState, id *block.File) error {
	if s.known {
		return nil
	}
	if s.known = true; id == nil || id.Ordinal == s.next {
		return nil
	}
	s.shift = s.next - id.Ordinal
	m.mu.Lock()
	m.mu.shift[source] = s.shift
	m.mu.Unlock()
	if m.target == nil {
		return nil
	}
	return m.log.append(kindShift, binary.AppendUvarint(binary.AppendUvarint(nil, uint64(m.own(source))), s.shift))
}

// Listed tells that the listing of a source was read to its end.
func (m *Manager) Listed(source uint32) error {
	m.in.Lock()
	defer m.in.Unlock()
	s := m.source(source)
	s.digest.Listed = true
	if m.target == nil || s.listed {
		return nil
	}
	s.listed = true
	if err := m.log.append(kindListed, binary.AppendUvarint(nil, uint64(m.own(source)))); err != nil {
		return m.fail(err)
	}
	return nil
}

// fail keeps the first failure, after which nothing is committed, and returns err.
func (m *Manager) fail(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failLocked(err)
}

// nudge wakes the committer.
func (m *Manager) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *Manager) failLocked(err error) error {
	if m.mu.err == nil {
		m.mu.err = err
		m.nudge() // the committer passes it on: callers may hold locks of theirs
	}
	return err
}

// Err returns the failure that stopped committing, if any.
func (m *Manager) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.err
}
