package avro

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
)

// Limits of a block, in bytes, packed and unpacked.
const (
	DefaultMaxBlock = 256 << 20
	maxMaxBlock     = 1 << 30
	maxBlockBytes   = 512 << 20
)

// Options of reading. The zero value stands for the defaults.
type Options struct {
	MaxBlock dataset.ByteSize `json:"max_block,omitempty" doc:"largest block read, in decoded bytes (256MiB)"`
	WithPath bool             `json:"with_path,omitempty" doc:"add the column path, the file of each row"`
	file.Hive
}

// NewSource makes a source of the files in set.
func NewSource(set *file.Set, opt Options) (*tables.Source, error) {
	if opt.MaxBlock < 0 || opt.MaxBlock > maxMaxBlock {
		return nil, dataset.Usagef("max_block=%s: must be between 1B and 1GiB", opt.MaxBlock)
	}
	if opt.MaxBlock == 0 {
		opt.MaxBlock = DefaultMaxBlock
	}
	return tables.NewSource(set, &reading{opt}, opt.WithPath), nil
}

// reading is the tables.Format of container files.
type reading struct{ opt Options }

var _ tables.Format = (*reading)(nil)

// Name implements tables.Format.
func (f *reading) Name() string { return "avro" }

// Version implements tables.Format.
func (f *reading) Version() int { return 1 }

// Options implements tables.Format.
func (f *reading) Options() any { return f.opt }

// Schema implements tables.Format.
func (f *reading) Schema(ctx context.Context, set *file.Set, ref dataset.FileRef) (*arrow.Schema, error) {
	head, _, err := set.Sample(ctx, ref, maxHeader)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(&counter{r: bufio.NewReader(bytes.NewReader(head))})
	if err != nil {
		return nil, err
	}
	_, fields, err := parseSchema(h.schema)
	if err != nil {
		return nil, err
	}
	return arrow.NewSchema(fields, nil), nil
}

// skip passes over n bytes of a file that is read in order.
func skip(c *counter, n int64) error {
	k, err := io.CopyN(io.Discard, c, n)
	if k < n && err == io.EOF {
		return fmt.Errorf("the file is cut off: %d bytes of its last block are missing", n-k)
	}
	return err
}

// Pieces implements tables.Format: blocks, put together up to the target.
func (f *reading) Pieces(ctx context.Context, set *file.Set, ref dataset.FileRef, target int64) (out []tables.Piece, err error) {
	if ref.Path == file.StdinPath || file.Compression(ref.Path) != "" || ref.Size <= target {
		return []tables.Piece{{End: file.Unbounded, Bytes: ref.Size}}, nil
	}
	h, err := set.FS().Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Check(), h.Close()) }()
	c := &counter{r: bufio.NewReader(io.NewSectionReader(h, 0, ref.Size))}
	head, err := readHeader(c)
	if err != nil {
		return nil, err
	}
	p := tables.Piece{}
	for at := head.size; at < ref.Size; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c := &counter{r: bufio.NewReaderSize(io.NewSectionReader(h, at, min(32, ref.Size-at)), 32)}
		rows, size, err := blockHead(c)
		if err != nil || size > ref.Size-at-c.n-syncBytes {
			p.End++ // whoever reads this piece reports it
			break
		}
		p.End += rows
		p.Bytes += size
		at += c.n + size + syncBytes
		if p.Bytes >= target && p.End > p.Start && at < ref.Size {
			out = append(out, p)
			p = tables.Piece{Start: p.End, End: p.End}
		}
	}
	p.End = file.Unbounded
	return append(out, p), nil
}

// Open implements tables.Format.
func (f *reading) Open(ctx context.Context, rt dataset.Runtime, set *file.Set, r dataset.SplitRange, from uint64, want *arrow.Schema) (tables.Rows, error) {
	t, err := set.OpenText(ctx, r.File, 0)
	if err != nil {
		return nil, err
	}
	rows := &rows{rt: rt, text: t, in: &counter{r: bufio.NewReaderSize(t, 256<<10)}, from: from, to: r.End, limit: f.opt.MaxBlock,
		target: min(max(rt.BlockBytes(), 1), maxBlockBytes), max: max(rt.BlockRows(), 1)}
	if err := rows.open(want); err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	return rows, nil
}
