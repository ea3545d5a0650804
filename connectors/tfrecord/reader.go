package tfrecord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/columns"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// fields makes columns of records.
type fields interface {
	// add appends a record; after an error nothing of it is left.
	add(rec []byte) error
	bytes() int64
	// take makes the record batch of what was added.
	take(rows int) arrow.RecordBatch
	release()
}

func newFields(mem memory.Allocator, features bool, want *arrow.Schema) (fields, error) {
	if features {
		return newExamples(mem, want)
	}
	return &whole{want: want, col: columns.NewBinary[int32](mem, arrow.BinaryTypes.Binary)}, nil
}

// whole keeps records as they are.
type whole struct {
	want *arrow.Schema
	col  columns.Binary[int32]
}

func (w *whole) add(rec []byte) error {
	if w.want.NumFields() > 0 {
		w.col.Push(rec)
	}
	return nil
}

func (w *whole) bytes() int64 { return int64(w.col.Bytes()) }

func (w *whole) take(rows int) arrow.RecordBatch {
	if w.want.NumFields() == 0 {
		return array.NewRecordBatch(w.want, nil, int64(rows))
	}
	d := w.col.Take()
	defer d.Release()
	a := array.MakeFromData(d)
	defer a.Release()
	return array.NewRecordBatch(w.want, []arrow.Array{a}, int64(rows))
}

func (w *whole) release() { w.col.Release() }

// rows reads the records of one range.
type rows struct {
	rt     dataset.Runtime
	rng    dataset.SplitRange
	from   uint64
	text   *file.Text
	fr     *frames
	fields fields
	target int64
	max    int
	done   bool
	runs   []block.Run
	n      int
}

// Next implements tables.Rows.
func (r *rows) Next(ctx context.Context) (arrow.RecordBatch, []block.Run, error) {
	for !r.done && r.n < r.max && (r.n == 0 || r.fields.bytes() < r.target) {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		switch err := r.row(); {
		case err == io.EOF:
			r.done = true
		case err != nil:
			return nil, nil, err
		}
	}
	if r.n == 0 {
		return nil, nil, io.EOF
	}
	rec, runs := r.fields.take(r.n), r.runs
	r.n, r.runs = 0, nil
	return rec, runs, nil
}

// row reads one record.
func (r *rows) row() error {
	at := r.fr.at
	if at >= r.rng.End {
		return io.EOF
	}
	n, err := r.fr.head()
	if err != nil {
		return err
	}
	if at < r.from {
		return r.fr.skip(n)
	}
	rec, err := r.fr.record(n)
	if err == nil {
		if err = r.fields.add(rec); err == nil {
			r.place(at)
			r.n++
			return nil
		}
	}
	var bad *recordError
	if !errors.As(err, &bad) {
		return fmt.Errorf("record at byte %d: %w", at, err)
	}
	row := dataset.FailedRow(r.rng.ID, at)
	defer row.Release()
	return r.rt.Fail(row, 0, err)
}

// place notes the position of a row. Runs end where 32-bit offsets do.
func (r *rows) place(at uint64) {
	if n := len(r.runs); n > 0 && at-r.runs[n-1].First <= math.MaxUint32 {
		r.runs[n-1].N++
		r.runs[n-1].Offsets = append(r.runs[n-1].Offsets, uint32(at-r.runs[n-1].First))
		return
	}
	r.runs = append(r.runs, block.Run{First: at, N: 1, Offsets: []uint32{0}})
}

// Check implements tables.Rows.
func (r *rows) Check() error { return r.text.Check() }

// Close implements tables.Rows.
func (r *rows) Close() error {
	r.fields.release()
	return r.text.Close()
}
