package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice-data/sluice/dataset"
)

// mostFiles is how many file names a report carries.
const mostFiles = 10

// Finish commits what is left, gives the result its final form and publishes it. All tokens must have drained. If it fails, Abort
// must follow; the target then is as before, or the next Prepare publishes what was decided.
func (m *Manager) Finish(ctx context.Context, rt dataset.Runtime) (dataset.TargetReport, error) {
	if m.target == nil {
		return m.finishPlain(ctx, rt)
	}
	report := dataset.TargetReport{Locator: m.target.Locator()}
	parts, err := m.commitRest(ctx, rt)
	if err != nil {
		return report, m.wrap(err)
	}
	f, err := m.finalForm(ctx, parts)
	if err != nil {
		return report, m.wrap(err)
	}
	if r, ok := m.target.(dataset.Rehearser); ok {
		if err := r.Rehearse(ctx, f.Remove, f.Manifest.Parts); err != nil {
			return report, m.wrap(fmt.Errorf("%w; every row is safe: when that is mended, run the same command again to publish them", err))
		}
	}
	if err := m.decideFinish(ctx, f); err != nil {
		return report, m.wrap(err)
	}
	if err := publish(ctx, m.target, m.store, f); err != nil {
		return report, m.wrap(fmt.Errorf("%w; every row is safe: run the same command again to publish them", err))
	}
	if err := m.leave(); err != nil { // the result is published: this is nobody's failure
		m.cfg.Logger.Warn("leave target", "target", m.target.Locator(), "error", err)
	}
	fillReport(&report, f.Manifest)
	if m.adds() { // what the run added, as the rows are; a joined file holds what was there as well
		report.Bytes = 0
		for _, p := range parts {
			report.Bytes += p.Bytes
		}
	}
	report.DeadAt = deadAt(m.store, f.Manifest)
	return report, nil
}

func (m *Manager) wrap(err error) error { return fmt.Errorf("write %s: %w", m.target.Locator(), err) }

func fillReport(r *dataset.TargetReport, m *Manifest) {
	r.Rows, r.Bytes, r.Parts, r.DeadLetters = m.Rows, m.Bytes, len(m.Parts), deadRows(m.Dead)
	for _, p := range m.Parts[:min(len(m.Parts), mostFiles)] {
		r.Files = append(r.Files, p.Name)
	}
}

// commitRest commits all generations that are left, and returns the run's parts in output order.
func (m *Manager) commitRest(ctx context.Context, rt dataset.Runtime) ([]dataset.Receipt, error) {
	m.mu.Lock()
	for _, g := range m.mu.current {
		if g != nil {
			m.closeGeneration(g)
		}
	}
	m.mu.ended = true
	frozen, live := m.mu.frozen, 0
	for g := range m.mu.open {
		live += g.live + g.busy
	}
	m.mu.Unlock()
	if frozen {
		return nil, errFrozen
	}
	if live > 0 {
		return nil, fmt.Errorf("internal error in commit: the run ended while %d ranges of input are still under way", live)
	}
	if err := m.idle(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	last, parts := m.mu.deferred, append(m.mu.committed, m.mu.deferred...)
	var fails failTally
	fails.take(&m.mu.rest)
	m.mu.Unlock()
	if len(parts) == 0 && !m.adds() { // an empty result has a part too: it carries the schema
		r, err := m.emptyPart(ctx, rt)
		if err != nil {
			return nil, err
		}
		last = append(last, r)
		parts = append(parts, r)
	}
	if len(last) > 0 || fails.failed > 0 {
		if err := m.writeRecord(ctx, &generationRecord{Parts: last, Deferred: true}, fails); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	aside, written := m.mu.aside, deadRows(m.mu.fails.Dead)
	m.mu.Unlock()
	if aside != written {
		return nil, fmt.Errorf("internal error in commit: %d rows were set aside and %d written", aside, written)
	}
	slices.SortFunc(parts, func(a, b dataset.Receipt) int { return cmp.Compare(a.Part.Seq, b.Part.Seq) })
	return parts, nil
}

func (m *Manager) emptyPart(ctx context.Context, rt dataset.Runtime) (dataset.Receipt, error) {
	part := dataset.Part{Seq: m.seq.Add(1) - 1, Run: m.cfg.Run, Attempt: m.cfg.attempt}
	if len(m.by) > 0 {
		part.Partition = map[string]string{}
		for _, c := range m.by {
			part.Partition[m.cfg.Schema.Field(c).Name] = nullPartition
		}
	}
	w, err := m.cfg.Sink.NewWriter(ctx, rt, part, m.cfg.Schema)
	if err != nil {
		return dataset.Receipt{}, err
	}
	return w.Commit(ctx)
}

// finalForm joins the parts if the result is to be one file, and makes the manifest.
func (m *Manager) finalForm(ctx context.Context, parts []dataset.Receipt) (*finishRecord, error) {
	f := &finishRecord{Replaces: m.kind == Overwrite}
	var kept []dataset.Receipt
	if m.adds() {
		kept = m.chain.Live
	}
	if f.Replaces {
		f.Remove = append(slices.Clone(m.chain.Live), m.foreign...)
	}
	final := parts
	if j, ok := m.target.(dataset.Joiner); ok {
		var joined bool
		var err error
		at := dataset.Part{Seq: m.seq.Load(), Run: m.cfg.Run, Attempt: m.cfg.attempt}
		if final, joined, err = j.Join(ctx, at, kept, parts, m.cfg.Options.PartBytes); err != nil {
			return nil, err
		}
		if joined {
			f.Replaces, f.Remove = true, kept
		}
	}
	crashpoint("result joined")
	f.Manifest = m.manifest(final, f.Replaces || !m.adds())
	dead, err := m.gatherDead(ctx)
	if err != nil {
		return nil, err
	}
	f.Manifest.Read, f.Manifest.Failed, f.Manifest.Dead = dead.Read, dead.Failed, dead.Dead
	for _, p := range parts {
		f.Manifest.Rows += p.Rows
	}
	for _, p := range final {
		f.Manifest.Bytes += p.Bytes
	}
	return f, nil
}

func (m *Manager) manifest(parts []dataset.Receipt, replaces bool) *Manifest {
	out := &Manifest{
		Format: manifestFormat, Number: m.number, Previous: m.number - 1, Epoch: 1, Run: m.cfg.Run, Attempt: m.cfg.attempt,
		Mode: asked(m.cfg.Options), Created: m.cfg.Now().UTC(), Owner: m.cfg.owner(), Command: m.cfg.Options.Command,
		Fingerprint: Fingerprint(m.cfg.Plan), Plan: m.cfg.Plan, Schema: schemaLines(m.cfg.Schema), NextSeq: m.seq.Load() + 1, Parts: parts,
		Kind: m.kind,
	}
	if m.chain.Last != nil {
		out.Epoch = m.chain.Last.Epoch + 1
	}
	out.Full, out.Kept = m.chain.full(replaces)
	m.in.Lock()
	defer m.in.Unlock()
	out.NextOrdinal = m.in.base
	for _, id := range slices.Sorted(maps.Keys(m.in.sources)) {
		out.NextOrdinal = max(out.NextOrdinal, m.in.sources[id].next)
		out.Inputs = append(out.Inputs, m.in.sources[id].digest.sum())
	}
	if m.cfg.Retry != nil {
		m.asRetry(out)
	}
	return out
}

// decideFinish makes the finish record durable: from here on the run is going to be published.
func (m *Manager) decideFinish(ctx context.Context, f *finishRecord) error {
	m.mu.Lock()
	m.mu.finishing = true
	m.mu.Unlock()
	if err := m.append(kindFinish, f); err != nil {
		return err
	}
	if err := m.log.sync(ctx); err != nil {
		return err
	}
	crashpoint("finish decided")
	return nil
}

// leave ends the committer, closes the log and releases the lock, once.
func (m *Manager) leave() error {
	if m.release == nil {
		return nil
	}
	if m.stop != nil {
		m.stop()
	}
	m.worker.Wait()
	err := errors.Join(m.log.close(), m.release())
	m.release = nil
	return err
}

// Abort ends a run that does not finish: open parts go, committed generations stay for the next run to find. If none was committed
// the target is left as it was. It does nothing after a Finish that succeeded.
func (m *Manager) Abort(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if m.target == nil {
		return m.abortPlain(ctx)
	}
	if m.release == nil {
		return nil
	}
	m.stop()
	m.worker.Wait()
	err := m.abortParts(ctx)
	m.mu.Lock()
	clean := m.mu.recorded == 0 && !m.mu.finishing
	m.mu.Unlock()
	if clean {
		err = errors.Join(err, removeLog(ctx, m.store, m.cfg.Run), m.target.Discard(ctx, m.cfg.Run))
	}
	if err = errors.Join(err, m.leave()); err != nil {
		return m.wrap(err)
	}
	return nil
}
