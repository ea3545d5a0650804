package tfrecord

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
)

// RecordColumn is the column of whole records.
const RecordColumn = "record"

// Limits.
const (
	// DefaultMaxRecord is the largest record that is read, in bytes.
	DefaultMaxRecord = 256 << 20
	maxMaxRecord     = 1 << 30
	maxBlockBytes    = 512 << 20 // with the largest record still within the 2 GiB that 32-bit offsets reach
	sampledBytes     = 16 << 20
	sampledRecords   = 1000
)

// Options of reading. The zero value stands for the defaults.
type Options struct {
	Features  bool             `json:"features,omitempty" doc:"records are tf.train.Example: a column for each feature"`
	MaxRecord dataset.ByteSize `json:"max_record,omitempty" doc:"largest record read; larger ones are row errors (256MiB)"`
	WithPath  bool             `json:"with_path,omitempty" doc:"add the column path, the file of each row"`
	file.Hive
}

// NewSource makes a source of the files in set.
func NewSource(set *file.Set, opt Options) (*tables.Source, error) {
	if opt.MaxRecord < 0 || opt.MaxRecord > maxMaxRecord {
		return nil, dataset.Usagef("max_record=%s: must be between 1B and 1GiB", opt.MaxRecord)
	}
	if opt.MaxRecord == 0 {
		opt.MaxRecord = DefaultMaxRecord
	}
	return tables.NewSource(set, &reading{opt}, opt.WithPath), nil
}

// reading is the tables.Format of TFRecord files.
type reading struct{ opt Options }

var _ tables.Format = (*reading)(nil)

// Name implements tables.Format.
func (f *reading) Name() string { return "tfrecord" }

// Version implements tables.Format.
func (f *reading) Version() int { return 1 }

// Options implements tables.Format.
func (f *reading) Options() any { return f.opt }

var recordSchema = arrow.NewSchema([]arrow.Field{{Name: RecordColumn, Type: arrow.BinaryTypes.Binary, Nullable: true}}, nil)

// Schema implements tables.Format: one column, or the features of the first examples.
func (f *reading) Schema(ctx context.Context, set *file.Set, ref dataset.FileRef) (*arrow.Schema, error) {
	if !f.opt.Features {
		return recordSchema, nil
	}
	head, whole, err := set.Sample(ctx, ref, sampledBytes)
	if err != nil {
		return nil, err
	}
	fr := newFrames(bytes.NewReader(head), 0, f.opt.MaxRecord)
	in := &inference{}
	for range sampledRecords {
		at := fr.at
		n, err := fr.head()
		if err == io.EOF || err != nil && !whole && at > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		rec, err := fr.record(n)
		if bad := (*recordError)(nil); errors.As(err, &bad) {
			continue
		}
		if err != nil && !whole && at > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := in.add(rec, at); err != nil {
			return nil, err
		}
	}
	return in.schema(), nil
}

// Pieces implements tables.Format: big plain files are divided at records, which their headers lead to.
func (f *reading) Pieces(ctx context.Context, set *file.Set, ref dataset.FileRef, target int64) (out []tables.Piece, err error) {
	if ref.Path == file.StdinPath || file.Compression(ref.Path) != "" || ref.Size <= target {
		end := uint64(ref.Size)
		if ref.Path == file.StdinPath || file.Compression(ref.Path) != "" {
			end = file.Unbounded
		}
		if end == 0 {
			return nil, nil
		}
		return []tables.Piece{{End: end, Bytes: ref.Size}}, nil
	}
	h, err := set.FS().Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Check(), h.Close()) }()
	w := window{h: h, size: uint64(ref.Size)}
	start, size := uint64(0), uint64(ref.Size)
	for at := uint64(0); at < size; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n, err := w.length(at)
		if err != nil || n > size-at {
			break // the reader of this piece reports it
		}
		at += headBytes + n + tailBytes
		if at-start >= uint64(target) && at < size {
			out = append(out, tables.Piece{Start: start, End: at, Bytes: int64(at - start)})
			start = at
		}
	}
	return append(out, tables.Piece{Start: start, End: size, Bytes: int64(size - start)}), nil
}

// windowBytes is how much is read for the headers in it: many of small records, one of large ones.
const windowBytes = 16 << 10

// window reads heads of frames at ascending positions.
type window struct {
	h    io.ReaderAt
	size uint64
	buf  []byte
	at   uint64
}

func (w *window) length(at uint64) (uint64, error) {
	if at < w.at || at+headBytes > w.at+uint64(len(w.buf)) {
		w.buf, w.at = append(w.buf[:0], make([]byte, min(windowBytes, w.size-at))...), at
		if n, err := w.h.ReadAt(w.buf, int64(at)); n < len(w.buf) {
			return 0, err
		}
	}
	p := w.buf[at-w.at:]
	if len(p) < headBytes {
		return 0, io.ErrUnexpectedEOF
	}
	return lengthOf(p[:headBytes], at)
}

// Open implements tables.Format.
func (f *reading) Open(ctx context.Context, rt dataset.Runtime, set *file.Set, r dataset.SplitRange, from uint64, want *arrow.Schema) (tables.Rows, error) {
	t, err := set.OpenText(ctx, r.File, int64(r.Start))
	if err != nil {
		return nil, err
	}
	fields, err := newFields(rt.Allocator(), f.opt.Features, want)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return &rows{rt: rt, rng: r, from: from, text: t, fr: newFrames(t, r.Start, f.opt.MaxRecord), fields: fields,
		target: min(max(rt.BlockBytes(), 1), maxBlockBytes), max: max(rt.BlockRows(), 1)}, nil
}
