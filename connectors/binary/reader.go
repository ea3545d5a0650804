package binary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// reader reads the files of one split, a block at a time.
type reader struct {
	src    *Source
	rt     dataset.Runtime
	ranges []dataset.SplitRange // still to read
	target int64
	rows   int
}

// batch is one block being read.
type batch struct {
	runs    []block.Run
	paths   []byte
	data    *memory.Buffer // nil without the column of bytes
	pathEnd []int32
	dataEnd []int32
}

// failure is a file that became a row error.
type failure struct {
	file dataset.SplitRange
	err  error
}

// Next implements dataset.Reader.
func (r *reader) Next(ctx context.Context) (*block.Block, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if len(r.ranges) == 0 {
			return nil, io.EOF
		}
		files, failed, size := r.pick()
		b := &batch{}
		if r.src.schema.HasField(r.src.cfg.Column) {
			b.data = memory.NewResizableBuffer(r.rt.Allocator())
			b.data.Resize(int(size))
		}
		err := r.rt.Blocking("read files", func() error { return r.read(ctx, files, b, &failed) })
		for _, f := range failed {
			if err == nil {
				err = r.fail(f)
			}
		}
		if err != nil || len(b.runs) == 0 {
			b.release()
			if err != nil {
				return nil, err
			}
			continue
		}
		return r.build(b), nil
	}
}

// pick takes the files of the next block, and sets those over the limit aside.
func (r *reader) pick() (files []dataset.SplitRange, failed []failure, size int64) {
	n := 0
	for _, f := range r.ranges {
		if len(files) == r.rows || len(files) > 0 && size+f.File.Size > r.target {
			break
		}
		n++
		if limit := int64(r.src.opt.MaxFile); f.File.Size > limit && f.File.Path != file.StdinPath {
			failed = append(failed, failure{f, &fileError{"file too large",
				fmt.Errorf("the file has %d bytes, more than max_file=%s; raise max_file to read it", f.File.Size, r.src.opt.MaxFile)}})
			continue
		}
		files = append(files, f)
		size += f.File.Size
	}
	r.ranges = r.ranges[n:]
	return files, failed, size
}

// read reads files into b. Files that cannot be had are added to failed.
func (r *reader) read(ctx context.Context, files []dataset.SplitRange, b *batch, failed *[]failure) error {
	used := 0
	for _, f := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if b.data != nil {
			n, err := r.readFile(ctx, f.File, b.data, used)
			if cause := rowFault(err); cause != nil {
				*failed = append(*failed, failure{f, cause})
				continue
			}
			if err != nil {
				return err
			}
			used += n
		}
		b.dataEnd = append(b.dataEnd, int32(used))
		b.paths = append(b.paths, f.File.Path...)
		b.pathEnd = append(b.pathEnd, int32(len(b.paths)))
		b.runs = append(b.runs, block.Run{File: f.ID, N: 1, Stride: 1})
	}
	if b.data != nil {
		b.data.ResizeNoShrink(used)
	}
	return nil
}

// readFile reads one whole file to position at of buf, which has room for its pinned size.
func (r *reader) readFile(ctx context.Context, ref dataset.FileRef, buf *memory.Buffer, at int) (n int, err error) {
	if ref.Path == file.StdinPath {
		return r.readStdin(ctx, buf, at)
	}
	h, err := r.src.set.FS().Open(ctx, ref)
	if err != nil {
		return 0, err
	}
	n, err = h.ReadAt(buf.Bytes()[at:at+int(ref.Size)], 0)
	if err == nil || err == io.EOF {
		if err = h.Check(); err == nil && int64(n) < ref.Size {
			err = fmt.Errorf("read %s: %w", ref.Path, io.ErrUnexpectedEOF)
		}
	}
	return n, errors.Join(err, h.Close())
}

// readStdin reads standard input to its end, growing buf.
func (r *reader) readStdin(ctx context.Context, buf *memory.Buffer, at int) (n int, err error) {
	in, err := file.Stdin.Open(ctx)
	if err != nil {
		return 0, err
	}
	for {
		if room := buf.Len() - at - n; room == 0 {
			buf.Resize(max(2*buf.Len(), 1<<20))
		}
		k, err := in.Read(buf.Bytes()[at+n:])
		n += k
		switch {
		case int64(n) > int64(r.src.opt.MaxFile):
			return n, &fileError{"file too large", fmt.Errorf("standard input has more bytes than max_file=%s; raise max_file to read it", r.src.opt.MaxFile)}
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// fileError is a failed row with the class that it is counted under.
type fileError struct {
	class string
	err   error
}

func (e *fileError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *fileError) Unwrap() error { return e.err }

// Class implements dataset.Classed.
func (e *fileError) Class() string { return e.class }

// rowFault tells a file that cannot be had, which is the row's fault, from a disk that fails, which is not.
func rowFault(err error) error {
	var own *fileError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own), errors.Is(err, file.ErrChanged):
		return err
	case errors.Is(err, fs.ErrPermission):
		return &fileError{"permission denied", err}
	}
	return nil
}

func (r *reader) fail(f failure) error {
	row := dataset.FailedRow(f.file.ID, 0)
	defer row.Release()
	return r.rt.Fail(row, 0, f.err)
}

// build makes the block of what was read.
func (r *reader) build(b *batch) *block.Block {
	defer b.release()
	n := len(b.runs)
	var cols []arrow.Array
	for _, f := range r.src.schema.Fields() {
		var data *array.Data
		if f.Name == PathColumn {
			data = r.column(f.Type, n, b.pathEnd, b.copyPaths(r.rt.Allocator()))
		} else {
			data = r.column(f.Type, n, b.dataEnd, b.data)
			b.data = nil
		}
		cols = append(cols, array.MakeFromData(data))
		data.Release()
	}
	rec := block.FromColumns(r.src.schema, cols, n)
	for _, c := range cols {
		c.Release()
	}
	return block.New(rec, block.FromRuns(b.runs...))
}

// column makes a column of variable-length values from where each ends; it takes over values.
func (r *reader) column(dt arrow.DataType, n int, ends []int32, values *memory.Buffer) *array.Data {
	offsets := memory.NewResizableBuffer(r.rt.Allocator())
	offsets.Resize(4 * (n + 1))
	o := arrow.Int32Traits.CastFromBytes(offsets.Bytes())
	o[0] = 0
	copy(o[1:], ends)
	data := array.NewData(dt, n, []*memory.Buffer{nil, offsets, values}, nil, 0, 0)
	offsets.Release()
	values.Release()
	return data
}

func (b *batch) copyPaths(mem memory.Allocator) *memory.Buffer {
	buf := memory.NewResizableBuffer(mem)
	buf.Resize(len(b.paths))
	copy(buf.Bytes(), b.paths)
	return buf
}

func (b *batch) release() {
	if b.data != nil {
		b.data.Release()
	}
	b.data = nil
}

// Close implements dataset.Reader.
func (r *reader) Close() error { return nil }
