package jsonl

import (
	"context"

	"github.com/sluice-data/sluice/dataset"
)

var _ dataset.Growing = (*Source)(nil)

// Mark implements dataset.Growing.
func (s *Source) Mark(ctx context.Context, f dataset.FileRef, n int64) (mark uint64, ended, ok bool, err error) {
	return s.set.Mark(ctx, f, n)
}
