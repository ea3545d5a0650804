package commit

import (
	"context"
	"errors"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// A sink that is no Target (standard output, a function) gets one writer a lane, which is committed at the end. What it was given
// cannot be taken back, so rows arrive at least once.

func (m *Manager) writePlain(ctx context.Context, rt dataset.Runtime, lane int, b *block.Block) error {
	w, err := m.plainWriter(ctx, rt, lane)
	if err == nil {
		err = w.Write(ctx, b)
	}
	if err != nil && !errors.Is(err, dataset.ErrStop) {
		return m.fail(err)
	}
	return err
}

func (m *Manager) plainWriter(ctx context.Context, rt dataset.Runtime, lane int) (dataset.Writer, error) {
	m.mu.Lock()
	if m.mu.plain == nil {
		m.mu.plain = make([]dataset.Writer, m.cfg.Lanes)
	}
	w, err := m.mu.plain[lane], m.mu.err
	m.mu.Unlock()
	if w != nil || err != nil {
		return w, err
	}
	w, err = m.cfg.Sink.NewWriter(ctx, rt, dataset.Part{Seq: uint64(lane), Run: m.cfg.Run, Attempt: 1}, m.cfg.Schema)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.mu.plain[lane] = w
	m.mu.Unlock()
	return w, nil
}

// finishPlain commits the writers. An empty result gets one writer, so that a format with a header writes it.
func (m *Manager) finishPlain(ctx context.Context, rt dataset.Runtime) (dataset.TargetReport, error) {
	report := dataset.TargetReport{Locator: m.cfg.Sink.Name()}
	m.mu.Lock()
	none := m.mu.plain == nil
	m.mu.Unlock()
	if none {
		if _, err := m.plainWriter(ctx, rt, 0); err != nil {
			return report, err
		}
	}
	var receipts []dataset.Receipt
	for i, w := range m.mu.plain {
		if w == nil {
			continue
		}
		m.mu.plain[i] = nil
		r, err := w.Commit(ctx)
		if err != nil && !errors.Is(err, dataset.ErrStop) {
			return report, m.fail(err)
		}
		receipts = append(receipts, r)
		report.Rows += r.Rows
		report.Bytes += r.Bytes
		report.Parts++
	}
	return report, m.cfg.Sink.Finish(ctx, receipts)
}

func (m *Manager) abortPlain(ctx context.Context) error {
	var errs []error
	for i, w := range m.mu.plain {
		if w != nil {
			m.mu.plain[i] = nil
			errs = append(errs, w.Abort(ctx))
		}
	}
	return errors.Join(errs...)
}
