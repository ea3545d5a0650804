package arrowipc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// input gives messages in order.
type input interface {
	// next gives the next message; fetch is valid until the next call. skip asks whether a batch of so many rows may be passed over.
	next(skip func(rows uint64) bool) (m *message, get fetch, err error)
	Check() error
	Close() error
}

// rows reads the rows of one range.
type rows struct {
	ctx      context.Context
	rt       dataset.Runtime
	in       input
	dec      *decoder
	at       uint64 // row number of the next batch
	from, to uint64
	number   int // record batches seen
	out      slicer
}

var _ tables.Rows = (*rows)(nil)

// Next implements tables.Rows.
func (r *rows) Next(ctx context.Context) (arrow.RecordBatch, []block.Run, error) {
	for {
		if rec := r.out.next(); rec != nil {
			run := block.Run{First: r.out.first, N: uint32(rec.NumRows()), Stride: 1}
			r.out.first += uint64(rec.NumRows())
			return rec, []block.Run{run}, nil
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if r.at >= r.to {
			return nil, nil, io.EOF
		}
		if err := r.batch(); err != nil {
			return nil, nil, err
		}
	}
}

// batch reads the next message.
func (r *rows) batch() error {
	var m *message
	var get fetch
	err := r.rt.Blocking("read file", func() (err error) {
		m, get, err = r.in.next(func(n uint64) bool { return r.at+n <= r.from })
		return err
	})
	if err != nil {
		return err
	}
	if m.kind == isDictionary {
		return r.dec.learn(m, get)
	}
	first, n := r.at, uint64(m.batch.length)
	r.at += n
	r.number++
	if r.at <= r.from || n == 0 {
		return nil
	}
	rec, err := r.dec.record(m, get)
	if err != nil {
		return fmt.Errorf("record batch %d (rows %d to %d): %w", r.number, first, first+n-1, err)
	}
	defer rec.Release()
	lo, hi := max(first, r.from), min(r.at, r.to)
	r.out.set(rec.NewSlice(int64(lo-first), int64(hi-first)), lo)
	return nil
}

// Check implements tables.Rows.
func (r *rows) Check() error { return r.in.Check() }

// Close implements tables.Rows.
func (r *rows) Close() error {
	r.out.release()
	r.dec.release()
	return r.in.Close()
}

// slicer hands out a record in blocks of the wanted size.
type slicer struct {
	rows  int
	bytes int64
	rec   arrow.RecordBatch
	at    int64
	step  int64
	first uint64 // position of the next row
}

// set takes over rec.
func (s *slicer) set(rec arrow.RecordBatch, first uint64) {
	s.rec, s.at, s.first = rec, 0, first
	n := rec.NumRows()
	s.step = min(n, int64(max(s.rows, 1)))
	if size := tables.BatchBytes(rec, 0, int(n)); size > s.bytes {
		s.step = max(1, min(s.step, int64(float64(n)*float64(s.bytes)/float64(size))))
	}
}

func (s *slicer) next() arrow.RecordBatch {
	if s.rec == nil {
		return nil
	}
	to := min(s.at+s.step, s.rec.NumRows())
	out := s.rec.NewSlice(s.at, to)
	if s.at = to; to == s.rec.NumRows() {
		s.release()
	}
	return out
}

func (s *slicer) release() {
	if s.rec != nil {
		s.rec.Release()
	}
	s.rec = nil
}

// seeker is the input of files and streams with an index.
type seeker struct {
	h   file.Handle
	ix  *index
	at  int // the next entry
	mem memory.Allocator
}

func (s *seeker) next(skip func(uint64) bool) (*message, fetch, error) {
	for s.at < len(s.ix.entries) {
		e := s.ix.entries[s.at]
		s.at++
		if e.kind == isBatch && skip(e.rows) {
			return &message{body: e.body, batch: batch{length: int64(e.rows)}}, nil, nil
		}
		b := make([]byte, e.meta)
		if err := readAt(s.h, b, e.at); err != nil {
			return nil, nil, err
		}
		m, err := parseMessage(b)
		if err == nil && (m.kind != e.kind || m.body > e.body || uint64(m.batch.length) != e.rows) {
			err = file.ErrChanged
		}
		if err != nil {
			return nil, nil, errors.Join(s.h.Check(), fmt.Errorf("%s %d: %w", e.kind, e.number, err))
		}
		return m, func(off, n int64) (*memory.Buffer, error) {
			buf := memory.NewResizableBuffer(s.mem)
			buf.Resize(int(n))
			if err := readAt(s.h, buf.Bytes(), e.at+e.meta+off); err != nil {
				buf.Release()
				return nil, err
			}
			return buf, nil
		}, nil
	}
	return nil, nil, io.EOF
}

// Check implements input.
func (s *seeker) Check() error { return s.h.Check() }

// Close implements input.
func (s *seeker) Close() error { return s.h.Close() }
