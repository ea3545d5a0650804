package sql

import (
	"context"

	"github.com/sluice-data/sluice/dataset"
)

// tableSink is what the sinks of both databases share. Parts are noted beside the table as they are published.
type tableSink struct {
	opt   SinkOptions
	shown string
	publisher
	// holds tells whether the table is there and has rows; published, which parts are noted. A table or a database that is not there has none.
	holds     func(ctx context.Context) (bool, error)
	published func(ctx context.Context) (map[string]bool, error)
}

// Version implements dataset.Sink.
func (s *tableSink) Version() int { return 1 }

// Params implements dataset.Sink.
func (s *tableSink) Params() any { return s.opt }

// Existing implements dataset.Target.
func (s *tableSink) Existing(ctx context.Context, live []dataset.Receipt) ([]dataset.Receipt, error) {
	if s.opt.Mode != modeCreate {
		return nil, nil
	}
	return s.Stale(ctx, live)
}

// Stale implements dataset.Target: rows that no receipt accounts for are told only where there is no receipt at all.
func (s *tableSink) Stale(ctx context.Context, live []dataset.Receipt) ([]dataset.Receipt, error) {
	if len(live) > 0 {
		return nil, nil
	}
	rows, err := s.holds(ctx)
	if err != nil || !rows {
		return nil, err
	}
	return []dataset.Receipt{foreignRows(s.opt.Table)}, nil
}

// Verify implements dataset.Target. Where the table is gone or was emptied, the parts are missing.
func (s *tableSink) Verify(ctx context.Context, receipts []dataset.Receipt) (missing, differ []dataset.Receipt, err error) {
	done, err := s.published(ctx)
	if err != nil {
		return nil, nil, err
	}
	rows, err := s.holds(ctx)
	for _, r := range receipts {
		if !done[r.Name] || r.Rows > 0 && !rows {
			missing = append(missing, r)
		}
	}
	return missing, nil, err
}

// Rehearse implements dataset.Rehearser.
func (s *tableSink) Rehearse(ctx context.Context, remove, parts []dataset.Receipt) error {
	return s.rehearse(ctx, remove, parts)
}

// Remove implements dataset.Target.
func (s *tableSink) Remove(_ context.Context, _, keep []dataset.Receipt) error {
	s.remove(keep)
	return nil
}

// Finish implements dataset.Sink.
func (s *tableSink) Finish(ctx context.Context, receipts []dataset.Receipt) error {
	return s.finish(ctx, receipts)
}

// Seal implements dataset.Target: the database says by itself what it holds.
func (s *tableSink) Seal(context.Context, []dataset.Receipt) error { return nil }
