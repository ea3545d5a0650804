package text

import (
	"context"

	"github.com/sluice-data/sluice/dataset"
)

var _ dataset.Growing = (*Source)(nil)

// Mark implements dataset.Growing. Where a character takes more than a byte at least, a byte does not end a line.
func (s *Source) Mark(ctx context.Context, f dataset.FileRef, n int64) (mark uint64, ended, ok bool, err error) {
	if !s.cuts(ctx, f) {
		return 0, false, false, nil
	}
	return s.set.Mark(ctx, f, n)
}
