package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
)

// retrySource gives the failed rows of a source, from the versions of its files that the run read.
type retrySource struct {
	dataset.Source
	retry *retry
	files []*retryFile
}

var (
	_ dataset.Source      = (*retrySource)(nil)
	_ dataset.Projectable = (*retrySource)(nil)
	_ dataset.Prunable    = (*retrySource)(nil)
	_ dataset.Holder      = (*retrySource)(nil)
)

// with is the same restriction of another form of the source.
func (s *retrySource) with(inner dataset.Source) dataset.Source {
	return &retrySource{inner, s.retry, s.files}
}

// Project implements dataset.Projectable.
func (s *retrySource) Project(columns []string) (dataset.Source, error) {
	p, ok := s.Source.(dataset.Projectable)
	if !ok {
		return s, nil
	}
	inner, err := p.Project(columns)
	if err != nil {
		return nil, err
	}
	return s.with(inner), nil
}

// Prune implements dataset.Prunable.
func (s *retrySource) Prune(predicate *expr.Expr) dataset.Source {
	if p, ok := s.Source.(dataset.Prunable); ok {
		return s.with(p.Prune(predicate))
	}
	return s
}

// Hold implements dataset.Holder.
func (s *retrySource) Hold(ctx context.Context) (release func() error, err error) {
	if h, ok := s.Source.(dataset.Holder); ok {
		return h.Hold(ctx)
	}
	return func() error { return nil }, nil
}

// Splits implements dataset.Source: one split for each journaled range that has failed rows.
func (s *retrySource) Splits(ctx context.Context, _ dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		for _, f := range s.files {
			for _, r := range f.ranges {
				if ctx.Err() != nil || !yield(dataset.Split{Ranges: []dataset.SplitRange{r}, Bytes: r.File.Size}, nil) {
					return
				}
			}
		}
	}
}

// Open implements dataset.Source. It begins at the first failed row.
func (s *retrySource) Open(ctx context.Context, rt dataset.Runtime, sp dataset.Split, offset uint64) (dataset.Reader, error) {
	at := sp.Ranges[0]
	f := s.retry.byID[fileKey{at.ID.Source, at.ID.Ordinal}]
	rd := &retryReader{file: f, retry: s.retry, rt: rt}
	var first uint64
	first, rd.last = f.within(at.Start, at.End)
	inner, err := s.Source.Open(ctx, &retryRuntime{rt, rd}, sp, max(offset, first))
	if err != nil {
		return nil, rd.changed(err)
	}
	rd.Reader = inner
	return rd, nil
}

// retryReader passes the failed rows of a range on.
type retryReader struct {
	dataset.Reader
	file  *retryFile
	retry *retry
	rt    dataset.Runtime
	last  uint64 // position of the last failed row
	past  bool   // it was met
}

// Next implements dataset.Reader.
func (r *retryReader) Next(ctx context.Context) (*block.Block, error) {
	for {
		if r.past {
			return nil, io.EOF
		}
		b, err := r.Reader.Next(ctx)
		if err != nil {
			return nil, r.changed(err)
		}
		var rows []uint32
		for i := range b.NumRows() {
			_, pos, _ := b.Identity().Origin(i)
			if r.file.find(pos) != nil {
				rows = append(rows, uint32(i))
			}
			r.past = r.past || pos >= r.last
		}
		if len(rows) == 0 {
			b.Release()
			continue
		}
		out, err := block.Take(r.rt.Allocator(), b, rows)
		b.Release()
		return out, err
	}
}

// changed makes a mistake of the user of a file that is not what it was: the row that failed is not there any more.
func (r *retryReader) changed(err error) error {
	if !errors.Is(err, dataset.ErrChanged) {
		return err
	}
	return &dataset.UsageError{Err: fmt.Errorf("retry run %s: a row of %s failed, and the file is not what the run read: %w; nothing was added. "+
		"Put the old file back to retry, add the rows of the new one with --append and a pipeline that reads just it, or run the whole command again with --overwrite",
		r.retry.left.Root.Run, r.file.id.Path, err)}
}

// retryRuntime leaves out failures of rows that are not tried again.
type retryRuntime struct {
	dataset.Runtime
	reader *retryReader
}

// Fail implements dataset.Runtime.
func (rt *retryRuntime) Fail(b *block.Block, row int, err error) error {
	if errors.Is(err, dataset.ErrChanged) {
		return rt.reader.changed(err)
	}
	if b.Identity().Len() > row {
		_, pos, _ := b.Identity().Origin(row)
		rt.reader.past = rt.reader.past || pos >= rt.reader.last
		if rt.reader.file.find(pos) == nil {
			return nil
		}
	}
	return rt.Runtime.Fail(b, row, err)
}
