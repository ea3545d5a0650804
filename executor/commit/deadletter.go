package commit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// DeadLetter is a row that failed, as it is kept below RUN/dead/ of the target's state: one line of JSON.
type DeadLetter struct {
	Run      string    `json:"run"`
	Time     time.Time `json:"time"`
	Operator string    `json:"operator"`
	Class    string    `json:"class"`
	Message  string    `json:"message"`
	Attempts int       `json:"attempts"`
	// Identity is nil where the row has none: nothing tells from which rows of the source it was made.
	Identity *DeadIdentity `json:"identity,omitempty"`
	Path     string        `json:"path,omitempty"`
	// Row is the input of the operator, column by column; where it is not kept, because it is large or could not be read, Path and the
	// position say where it is.
	Row json.RawMessage `json:"row,omitempty"`
}

// DeadIdentity is the identity of a row as this target counts it: block.RowID with the ordinal that the target journaled.
type DeadIdentity struct {
	Source   uint32   `json:"source"`
	Ordinal  uint64   `json:"ordinal"`
	Position uint64   `json:"position"`
	Child    []uint32 `json:"child,omitempty"`
}

// Where names the row for people.
func (l *DeadLetter) Where() string {
	s := l.Path
	if s == "" {
		s = "a row"
	}
	if l.Identity == nil {
		return s
	}
	if l.Identity.Position > 0 || len(l.Identity.Child) > 0 {
		s += fmt.Sprintf(" at %d", l.Identity.Position)
	}
	for _, c := range l.Identity.Child {
		s += fmt.Sprintf(".%d", c)
	}
	return s
}

// DeadSegment names the dead letters that one generation committed, or a part of them.
type DeadSegment struct {
	Name  string `json:"name"` // in the state storage
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// segmentDeadBytes bounds a segment of dead letters, which is made in memory.
const segmentDeadBytes = 8 << 20

// deadRef is a dead letter that waits for its generation, in the spool.
type deadRef struct {
	from origin
	at   int64
	n    int
}

// failTally is what failed among the rows of a token, and then of a generation.
type failTally struct {
	read   int64 // rows that readers gave
	failed int64
	dead   []deadRef
	bytes  int64 // of dead
}

func (t *failTally) take(o *failTally) {
	t.read += o.read
	t.failed += o.failed
	t.dead = append(t.dead, o.dead...)
	t.bytes += o.bytes
	*o = failTally{}
}

// CountRead notes that a reader gave rows, or could not read them, under a token that nobody else has yet.
func CountRead(t *block.Token, rows int) {
	if s, ok := t.State.(*TokenState); ok {
		for i := range s.sinks {
			s.sinks[i].fails.read += int64(rows)
		}
	}
}

// SetAside tells that the row of id failed, before its token has drained. The run must set rows aside or skip them; in the first case
// the letter is written when the generation of the row's range is committed, exactly once. t is nil where the row has no token: the
// letter is then written at the end. The letter is borrowed. Safe for concurrent use.
func (m *Manager) SetAside(t *block.Token, id block.RowID, l *DeadLetter) error {
	if m.target == nil || m.ended {
		return nil
	}
	if id.File != nil && m.done != nil && holds(m.doneOf(id.File), id.Position) {
		return nil // an earlier attempt committed what became of the row: it is read again for others
	}
	ref := deadRef{from: origin{id.File, id.Position}}
	if m.cfg.Options.OnError == dataset.OnErrorDeadLetter {
		line, err := m.deadLine(id, l)
		if err != nil {
			return m.fail(err)
		}
		if ref.at, err = m.spool.put(line); err != nil {
			return m.fail(fmt.Errorf("set row aside: %w", err))
		}
		ref.n = len(line)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	to := &m.mu.rest
	if t != nil {
		bd := m.binding(t)
		if bd == nil {
			return m.failLocked(errNoState)
		}
		to = &bd.fails
	}
	to.failed++
	if ref.n > 0 {
		m.mu.aside++
		to.dead = append(to.dead, ref)
		to.bytes += int64(ref.n)
	}
	return m.mu.err
}

func (m *Manager) deadLine(id block.RowID, l *DeadLetter) ([]byte, error) {
	own := *l
	own.Run = m.cfg.Run
	if id.File != nil {
		m.mu.Lock()
		shift := m.mu.shift[id.File.Source]
		m.mu.Unlock()
		own.Identity = &DeadIdentity{m.own(id.File.Source), id.File.Ordinal + shift, id.Position, id.Child}
		own.Path = id.File.Path
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(own); err != nil {
		return nil, fmt.Errorf("set row aside: %w", err)
	}
	return line.Bytes(), nil
}

// settleFails gives what failed of a drained token to the generations that hold its ranges. The lock is held.
func (m *Manager) settleFails(b *binding, ranges []block.Range, g *generation) {
	if len(b.more) > 0 && len(b.fails.dead) > 0 {
		b.share(ranges, func(g *generation, r block.Range) {
			b.fails.dead = slices.DeleteFunc(b.fails.dead, func(d deadRef) bool {
				if d.from.file != r.File || d.from.pos < r.First || d.from.pos >= r.End {
					return false
				}
				g.fails.take(&failTally{failed: 1, dead: []deadRef{d}, bytes: int64(d.n)})
				b.fails.failed--
				b.fails.bytes -= int64(d.n)
				return true
			})
		})
	}
	g.fails.take(&b.fails)
	if g.fails.bytes > maxDeadBytes && !m.exact && !g.closed {
		m.closeGeneration(g)
	}
}

// maxDeadBytes closes a generation whose dead letters take this much of the spool.
const maxDeadBytes = 256 << 20

// writeDead makes dead letters durable under names that no record has yet.
func (m *Manager) writeDead(ctx context.Context, refs []deadRef) ([]DeadSegment, error) {
	var out []DeadSegment
	var buf []byte
	var rows int64
	flush := func() error {
		if rows == 0 {
			return nil
		}
		name, err := m.nextDead(ctx)
		if err != nil {
			return err
		}
		// Replace, not Create: of this name there is at most what a killed attempt wrote and no record lists.
		if err := m.store.Replace(ctx, name, buf); err != nil {
			return fmt.Errorf("write dead letters: %w", err)
		}
		out = append(out, DeadSegment{name, rows, int64(len(buf))})
		buf, rows = buf[:0], 0
		return nil
	}
	for _, r := range refs {
		if len(buf) > 0 && len(buf)+r.n > segmentDeadBytes {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		var err error
		if buf, err = m.spool.take(buf, r.at, r.n); err != nil {
			return nil, fmt.Errorf("write dead letters: %w", err)
		}
		rows++
	}
	if err := flush(); err != nil {
		return nil, err
	}
	if len(out) > 0 {
		crashpoint("dead letters durable")
	}
	return out, nil
}

// nextDead returns the name of the next segment, above all that are there: an earlier attempt's are listed in its records.
func (m *Manager) nextDead(ctx context.Context) (string, error) {
	if m.deadNext == 0 {
		names, err := m.store.List(ctx, m.cfg.Run+"/dead")
		if err != nil {
			return "", fmt.Errorf("list dead letters: %w", err)
		}
		m.deadNext = 1
		for _, n := range names {
			var at uint64
			if _, err := fmt.Sscanf(n, m.cfg.Run+"/dead/%08d", &at); err == nil {
				m.deadNext = max(m.deadNext, at+1)
			}
		}
	}
	m.deadNext++
	return fmt.Sprintf("%s/dead/%08d", m.cfg.Run, m.deadNext-1), nil
}

// deadSummary is what the records of a run say of its failed rows.
type deadSummary struct {
	Read   int64
	Failed int64
	Dead   []DeadSegment
}

func (d *deadSummary) add(r *generationRecord) {
	d.Read += r.Read
	d.Failed += r.Failed
	d.Dead = append(d.Dead, r.Dead...)
}

func deadRows(segments []DeadSegment) (n int64) {
	for _, s := range segments {
		n += s.Rows
	}
	return n
}

// Carried returns how many rows earlier attempts at this run had read and how many of them had failed, in what is committed.
func (m *Manager) Carried() (read, failed int64) { return m.carried.Read, m.carried.Failed }

// gatherDead returns what the whole run set aside, and removes segments that were left by an attempt which was killed before it could
// list them.
func (m *Manager) gatherDead(ctx context.Context) (deadSummary, error) {
	m.mu.Lock()
	sum := deadSummary{m.carried.Read + m.mu.fails.Read, m.carried.Failed + m.mu.fails.Failed, slices.Concat(m.carried.Dead, m.mu.fails.Dead)}
	m.mu.Unlock()
	names, err := m.store.List(ctx, m.cfg.Run+"/dead")
	if err != nil {
		return sum, fmt.Errorf("list dead letters: %w", err)
	}
	for _, n := range names {
		if slices.ContainsFunc(sum.Dead, func(s DeadSegment) bool { return s.Name == n }) {
			continue
		}
		if err := m.store.Remove(ctx, n); err != nil {
			return sum, fmt.Errorf("remove dead letters that were not committed: %w", err)
		}
	}
	return sum, nil
}

// deadAt says where the dead letters of a run are, if the storage knows how people call that place.
func deadAt(store dataset.Storage, m *Manifest) string {
	if w, ok := store.(interface{ Where(name string) string }); ok && len(m.Dead) > 0 {
		return w.Where(m.Run + "/dead")
	}
	return ""
}
