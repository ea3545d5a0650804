package connectortest

import (
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Drain reads a source of damaged data as far as it goes, at most so many rows a split, and returns the first error. Memory must be given
// back, and blocks must be sound enough to be shown; errors are expected. For fuzz targets.
func Drain(tb testing.TB, src dataset.Source, rows int) error {
	tb.Helper()
	rt := NewRuntime(tb)
	rt.Rows = 100
	if l, ok := src.(dataset.LimitHint); ok {
		src = l.LimitHint(int64(rows))
	}
	var first error
	for s, err := range src.Splits(tb.Context(), dataset.Cursor{}) {
		if err != nil {
			return err
		}
		for i := range s.Ranges {
			s.Ranges[i].ID = &block.File{Path: s.Ranges[i].File.Path}
		}
		if _, err := ReadSplit(tb.Context(), src, rt, s, 0); err != nil && first == nil {
			first = err
		}
	}
	return first
}
