package arrowipc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Where a record batch ends, unless the options say otherwise.
const (
	DefaultBatchRows  = 64 << 10
	DefaultBatchBytes = 16 << 20
)

// WriteOptions are how Arrow files are written. The zero value stands for the defaults.
type WriteOptions struct {
	Compression string           `json:"compression,omitempty" doc:"of the bodies: lz4, zstd or none (none)"`
	Stream      bool             `json:"stream,omitempty" doc:"write the stream format, without a footer; the default for .arrows and standard output"`
	BatchRows   int64            `json:"batch_rows,omitempty" doc:"rows at which a record batch ends (65536)"`
	BatchBytes  dataset.ByteSize `json:"batch_bytes,omitempty" doc:"size before compression at which a record batch ends (16MiB)"`
}

// Format writes Arrow IPC. Dictionary columns are written as their values, because the dictionaries of blocks differ and a file has one
// for all; everything else is written as it is, extension types with their names.
type Format struct{ opt WriteOptions }

var _ dataset.Format = (*Format)(nil)

// NewFormat makes the format.
func NewFormat(opt WriteOptions) (*Format, error) {
	switch opt.Compression {
	case "none":
		opt.Compression = ""
	case "", "lz4", "zstd":
	default:
		return nil, dataset.Usagef("compression=%s: must be lz4, zstd or none", opt.Compression)
	}
	if opt.BatchRows < 0 || opt.BatchBytes < 0 || opt.BatchBytes > DefaultMaxBatch {
		return nil, dataset.Usagef("batch_rows=%d batch_bytes=%s: must be positive, and a batch no larger than %s", opt.BatchRows, opt.BatchBytes,
			dataset.ByteSize(DefaultMaxBatch))
	}
	return &Format{opt}, nil
}

// Name implements dataset.Format.
func (f *Format) Name() string { return "arrow" }

// Version implements dataset.Format.
func (f *Format) Version() int { return 1 }

// Params implements dataset.Format.
func (f *Format) Params() any { return f.opt }

// Extension implements dataset.Format.
func (f *Format) Extension() string {
	if f.opt.Stream {
		return "arrows"
	}
	return "arrow"
}

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	return file.CheckColumns("arrow", in, func(f arrow.Field) error { return readable(f.Type) })
}

// recordWriter is what both of Arrow's writers are.
type recordWriter interface {
	Write(arrow.RecordBatch) error
	Close() error
}

// NewEncoder implements dataset.Format.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, mem memory.Allocator, _ int) (dataset.Encoder, error) {
	if err := f.Check(in); err != nil {
		return nil, err
	}
	e := &encoder{out: &file.CountWriter{W: w}, schema: plainSchema(in), mem: mem}
	opts := []ipc.Option{ipc.WithSchema(e.schema), ipc.WithAllocator(mem)}
	switch f.opt.Compression {
	case "lz4":
		opts = append(opts, ipc.WithLZ4())
	case "zstd":
		opts = append(opts, ipc.WithZstd())
	}
	if f.opt.Stream {
		e.w = ipc.NewWriter(e.out, opts...)
	} else {
		fw, err := ipc.NewFileWriter(e.out, opts...)
		if err != nil {
			return nil, fmt.Errorf("write arrow: %w", err)
		}
		e.w = fw
	}
	e.gather = tables.Gather{Mem: mem, MaxRows: DefaultBatchRows, MaxBytes: DefaultBatchBytes, Emit: func(rec arrow.RecordBatch) error { return e.w.Write(rec) }}
	if f.opt.BatchRows > 0 {
		e.gather.MaxRows = f.opt.BatchRows
	}
	if f.opt.BatchBytes > 0 {
		e.gather.MaxBytes = int64(f.opt.BatchBytes)
	}
	return e, nil
}

// encoder writes one file.
type encoder struct {
	out    *file.CountWriter
	schema *arrow.Schema
	mem    memory.Allocator
	w      recordWriter
	gather tables.Gather
	failed bool
}

// Write implements dataset.Encoder.
func (e *encoder) Write(ctx context.Context, b *block.Block) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return e.add(b.Record())
}

func (e *encoder) add(in arrow.RecordBatch) error {
	rec, err := plainRecord(e.mem, in, e.schema)
	if err == nil {
		err = e.gather.Add(rec)
		rec.Release()
	}
	if err != nil {
		e.failed = true
		return fmt.Errorf("write arrow: %w", err)
	}
	return nil
}

// Buffered implements dataset.Encoder.
func (e *encoder) Buffered() int64 { return e.gather.Buffered() }

// Written implements dataset.Encoder.
func (e *encoder) Written() int64 { return e.out.N }

// Close implements dataset.Encoder.
func (e *encoder) Close(context.Context) error {
	var err error
	if !e.failed {
		err = e.gather.Flush()
	}
	e.gather.Release()
	if err = errors.Join(err, e.w.Close()); err != nil {
		return fmt.Errorf("write arrow: %w", err)
	}
	return nil
}

// Join implements dataset.Format: record batches are read and written again, one at a time.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	mem := memory.NewGoAllocator()
	var e *encoder
	for i, p := range parts {
		err := eachBatch(ctx, mem, p, func(s *arrow.Schema, rec arrow.RecordBatch) error {
			if e == nil {
				enc, err := f.NewEncoder(w, s, mem, 1)
				if err != nil {
					return err
				}
				e, _ = enc.(*encoder)
			}
			if rec == nil {
				return nil
			}
			return e.add(rec)
		})
		if err != nil {
			if e != nil {
				err = errors.Join(err, e.Close(ctx))
			}
			return fmt.Errorf("join arrow: part %d: %w", i, err)
		}
	}
	if e == nil {
		return errors.New("join arrow: there are no parts")
	}
	return e.Close(ctx)
}

// eachBatch reads a whole file; the first call of fn has the schema alone.
func eachBatch(ctx context.Context, mem memory.Allocator, p dataset.JoinPart, fn func(*arrow.Schema, arrow.RecordBatch) error) error {
	ix, err := readIndex(ctx, p, dataset.FileRef{Size: p.Size})
	if err != nil {
		return err
	}
	if err := fn(ix.schema, nil); err != nil {
		return err
	}
	d := &decoder{mem: mem, limit: maxMaxBatch, dicts: map[int64]*dictionary{}}
	defer d.release()
	d.shape(ix.schema, ix.fields, ix.schema)
	in := &seeker{h: partHandle{p}, ix: ix, mem: mem}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, get, err := in.next(func(uint64) bool { return false })
		if err == io.EOF {
			return nil
		}
		if err == nil && m.kind == isDictionary {
			err = d.learn(m, get)
		} else if err == nil {
			var rec arrow.RecordBatch
			if rec, err = d.record(m, get); err == nil {
				err = fn(ix.schema, rec)
				rec.Release()
			}
		}
		if err != nil {
			return err
		}
	}
}

// partHandle is a part as a file that does not change.
type partHandle struct{ dataset.JoinPart }

func (partHandle) Check() error { return nil }
func (partHandle) Close() error { return nil }
