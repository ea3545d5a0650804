package hf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// mediaReader joins the blocks of a table with files, in blocks of the size that the engine wants.
type mediaReader struct {
	src    *mediaSource
	rt     dataset.Runtime
	inner  dataset.Reader
	schema *arrow.Schema

	table *block.Block // rows of the table, of which at are done
	at    int
}

// mediaError is the failure of one row.
type mediaError struct {
	class string
	error
}

// Class implements dataset.Classed.
func (e *mediaError) Class() string { return e.class }

// Unwrap returns the cause.
func (e *mediaError) Unwrap() error { return e.error }

// Next implements dataset.Reader.
func (r *mediaReader) Next(ctx context.Context) (*block.Block, error) {
	for {
		for r.table == nil || r.at == r.table.NumRows() {
			r.drop()
			b, err := r.inner.Next(ctx)
			if err != nil {
				return nil, err
			}
			r.table = b
		}
		out, err := r.join(ctx)
		if out != nil || err != nil {
			return out, err
		}
	}
}

func (r *mediaReader) drop() {
	if r.table != nil {
		r.table.Release()
	}
	r.table, r.at = nil, 0
}

// join makes the next block of rows whose files could be read; nil if none of them could.
func (r *mediaReader) join(ctx context.Context) (*block.Block, error) {
	names := r.table.ColumnByName(fileColumn)
	b := array.NewBinaryBuilder(r.rt.Allocator(), arrow.BinaryTypes.Binary)
	defer b.Release()
	paths := array.NewStringBuilder(r.rt.Allocator())
	defer paths.Release()
	var kept []uint32
	want := r.schema.HasField(r.src.kind)
	for size := int64(0); r.at < r.table.NumRows() && size < r.rt.BlockBytes() && len(kept) < r.rt.BlockRows(); r.at++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		at, data, err := r.file(ctx, names, r.at, want)
		if me, ok := errors.AsType[*mediaError](err); ok {
			if err := r.rt.Fail(r.table, r.at, me); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if want {
			b.Append(data)
		}
		paths.Append(at)
		kept = append(kept, uint32(r.at))
		size += int64(len(data)) + int64(len(at))
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return r.build(kept, paths, b)
}

// file reads the file that a row names.
func (r *mediaReader) file(ctx context.Context, names arrow.Array, row int, want bool) (at string, data []byte, err error) {
	table := r.table.Identity().At(row).File.Path
	if names.IsNull(row) {
		return "", nil, &mediaError{"file is not named", fmt.Errorf("%s names no file in this row", table)}
	}
	if at, err = pathOf(table, names.ValueStr(row)); err != nil {
		return "", nil, &mediaError{"file name is not allowed", err}
	}
	if !want {
		return at, nil, nil
	}
	info, err := r.src.fs.Stat(ctx, at)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Dir:
		return "", nil, &mediaError{"file is missing", fmt.Errorf("%s names %s, which is not there", table, at)}
	case err != nil:
		return "", nil, err
	case info.Size > r.src.limit:
		return "", nil, &mediaError{"file too large", fmt.Errorf("%s has %d bytes, more than max_file=%d; raise max_file to read it", at, info.Size, r.src.limit)}
	}
	data = make([]byte, info.Size)
	err = r.rt.Blocking("read files", func() error { return readWhole(ctx, r.src.fs, info.FileRef, data) })
	return at, data, err
}

func readWhole(ctx context.Context, place file.FS, ref dataset.FileRef, data []byte) error {
	h, err := place.Open(ctx, ref)
	if err != nil {
		return err
	}
	n, err := h.ReadAt(data, 0)
	if err == io.EOF && n == len(data) {
		err = nil
	}
	if err == nil {
		err = h.Check()
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return fmt.Errorf("read %s: %w", ref.Path, err)
	}
	return nil
}

// build joins rows of the table with what was read for them.
func (r *mediaReader) build(kept []uint32, paths *array.StringBuilder, data *array.BinaryBuilder) (*block.Block, error) {
	rec, err := block.TakeRecord(r.rt.Allocator(), r.table.Record(), kept)
	if err != nil {
		return nil, fmt.Errorf("read hf:%s: %w", r.src.root, err)
	}
	defer rec.Release()
	cols := make([]arrow.Array, 0, r.schema.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for _, f := range r.schema.Fields() {
		switch {
		case f.Name == pathColumn:
			cols = append(cols, paths.NewArray())
		case f.Name == r.src.kind:
			raw := data.NewArray()
			if ext, ok := f.Type.(arrow.ExtensionType); ok {
				cols = append(cols, array.NewExtensionArrayWithStorage(ext, raw))
				raw.Release()
			} else {
				cols = append(cols, raw)
			}
		default:
			c := rec.Column(rec.Schema().FieldIndices(f.Name)[0])
			c.Retain()
			cols = append(cols, c)
		}
	}
	return r.table.Select(block.FromColumns(r.schema, cols, len(kept)), kept), nil
}

// Close implements dataset.Reader.
func (r *mediaReader) Close() error {
	r.drop()
	return r.inner.Close()
}
