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
	errLostCut = errors.New("internal error in commit: a cut lies outside the ranges of its token")
	errNoState = errors.New("internal error in commit: a token has no state of package commit")
	errNoToken = errors.New("internal error in commit: a row of a block belongs to none of its tokens")
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
	rows    atomic.Uint64 // that arrived, where partitioned
	shift   atomic.Uint64 // added to ordinals that another sink's manager gave out
	wake    chan struct{}
	stop    context.CancelFunc
	worker  sync.WaitGroup

	mu struct {
		sync.Mutex
		err         error // first failure: nothing is committed after it
		ended       bool
		generations uint64
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
		recorded    int  // generation records that were begun
		finishing   bool // the finish record was begun
	}

	in struct {
		sync.Mutex
		next    uint64 // next file ordinal
		last    map[uint32]lastFile
		digests map[uint32]*inputDigest
		adopts  bool // another manager gives the identities
		any     bool
	}
}

// lastFile is the file that was journaled last of a source: splits of one file follow each other.
type lastFile struct {
	ref     dataset.FileRef
	id      *block.File
	ordinal uint64
}

func newManager(cfg Config) (*Manager, error) {
	m := &Manager{cfg: cfg, exact: cfg.exact(), wake: make(chan struct{}, 1)}
	m.mu.open = map[*generation]bool{}
	m.mu.progress = make(chan struct{})
	m.mu.lanes = make([][]*openPart, cfg.Lanes)
	m.in.last = map[uint32]lastFile{}
	m.in.digests = map[uint32]*inputDigest{}
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

// begin opens the log of the run and starts the committer.
func (m *Manager) begin(ctx context.Context, p *preparation, kind DecisionKind, foreign []dataset.Receipt) error {
	m.target, m.store, m.kind, m.chain, m.foreign = p.target, p.store, kind, p.chain, foreign
	m.number = 1
	if last := p.chain.Last; last != nil {
		m.number = last.Number + 1
		if kind == Append {
			m.seq.Store(last.NextSeq)
			m.in.next = last.NextOrdinal
		}
	}
	log, err := openRunLog(ctx, m.store, m.cfg.Run, 1, 0, logPoint{})
	if err != nil {
		return err
	}
	m.log = log
	if err := m.append(kindBegin, beginRecord{Mode: string(kind), Fingerprint: Fingerprint(m.cfg.Plan), Plan: m.cfg.Plan,
		Schema: schemaLines(m.cfg.Schema), Previous: m.number - 1, FirstOrdinal: m.in.next, FirstSeq: m.seq.Load(),
		Owner: m.cfg.owner(), Command: m.cfg.Options.Command, Backends: m.cfg.Backends}); err != nil {
		return errors.Join(err, log.close(), removeLog(ctx, m.store, m.cfg.Run))
	}
	crashpoint("run begun")
	cctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	m.worker.Go(func() { m.commitLoop(cctx) })
	return nil
}

// Split journals a split before it is opened, and sets the identities of its ranges. Where another manager of the run has set them
// already they are kept, and journaled under ordinals of this target's own.
func (m *Manager) Split(_ context.Context, source uint32, s *dataset.Split) error {
	m.in.Lock()
	defer m.in.Unlock()
	ordinals := make([]uint64, len(s.Ranges))
	for i := range s.Ranges {
		var err error
		if ordinals[i], err = m.identify(source, &s.Ranges[i]); err != nil {
			return err
		}
	}
	if m.target == nil {
		return nil
	}
	if err := m.log.split(source, s, ordinals); err != nil {
		return m.fail(err)
	}
	return nil
}

// identify sets the identity of a range and returns the ordinal of its file in this target.
func (m *Manager) identify(source uint32, r *dataset.SplitRange) (uint64, error) {
	adopts := r.ID != nil
	if !m.in.any {
		m.in.any, m.in.adopts = true, adopts
		if adopts {
			m.shift.Store(m.in.next)
		}
	}
	if adopts != m.in.adopts {
		return 0, m.fail(errors.New("internal error in commit: some files were numbered by another sink and some were not"))
	}
	last, known := m.in.last[source]
	if known && sameRef(last.ref, r.File) && (!adopts || r.ID == last.id) {
		r.ID = last.id
		return last.ordinal, nil
	}
	if adopts {
		last.ordinal = r.ID.Ordinal + m.shift.Load()
		m.in.next = max(m.in.next, last.ordinal+1)
	} else {
		last.ordinal = m.in.next
		m.in.next++
		r.ID = &block.File{Source: source, Ordinal: last.ordinal, Path: r.File.Path}
	}
	m.in.last[source] = lastFile{r.File, r.ID, last.ordinal}
	d := m.in.digests[source]
	if d == nil {
		d = newDigest(source)
		m.in.digests[source] = d
	}
	d.add(r.File)
	return last.ordinal, nil
}

// Listed tells that the listing of a source was read to its end.
func (m *Manager) Listed(source uint32) error {
	m.in.Lock()
	defer m.in.Unlock()
	if m.in.digests[source] == nil {
		m.in.digests[source] = newDigest(source)
	}
	m.in.digests[source].Listed = true
	if m.target == nil {
		return nil
	}
	if err := m.log.append(kindListed, binary.AppendUvarint(nil, uint64(source))); err != nil {
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
