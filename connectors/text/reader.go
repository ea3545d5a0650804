package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/connectors/internal/columns"
	"github.com/sluice-data/sluice/connectors/internal/lines"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// LineError says what is wrong with one line. The file is named by whoever knows it.
type LineError struct {
	Offset uint64 // position of the line in the (decompressed) file
	Msg    string
	class  string
}

// Error implements error.
func (e *LineError) Error() string { return fmt.Sprintf("line at byte %d %s", e.Offset, e.Msg) }

// Class is the class that the failure is counted under.
func (e *LineError) Class() string { return e.class }

// reader reads one split.
type reader struct {
	src    *Source
	rt     dataset.Runtime
	ctx    context.Context // of Open: files stay open across calls
	schema *arrow.Schema
	ranges []dataset.SplitRange
	offset uint64 // lines of the first range below it are skipped
	lines  *lines.Chunks
	text   *file.Text
	cur    dataset.SplitRange // the range being read
	i, to  int                // the lines still to take are lines.Buf[i:to]

	paths, texts *columns.Binary[int32] // nil: not wanted
	table        *[128]rune
	decoded      []byte
	rows         int
	maxRow       int
	target       int
	runs         []block.Run
	left         int64 // rows still wanted; negative: all
}

func newReader(ctx context.Context, s *Source, rt dataset.Runtime, split dataset.Split, offset uint64) *reader {
	mem := rt.Allocator()
	s.set.Warn(rt.Warn)
	r := &reader{src: s, rt: rt, ctx: ctx, schema: s.schema(), ranges: split.Ranges, offset: offset, lines: lines.New(mem, int(s.opt.MaxLine)),
		table: charset.Table(s.opt.Encoding), maxRow: max(rt.BlockRows(), 1), target: int(min(max(rt.BlockBytes(), 1), maxBlockBytes)), left: -1}
	if s.limit > 0 {
		r.left = s.limit
		r.maxRow = int(min(int64(r.maxRow), r.left))
	}
	for _, c := range []struct {
		name string
		at   **columns.Binary[int32]
	}{{PathColumn, &r.paths}, {TextColumn, &r.texts}} {
		if r.schema.HasField(c.name) {
			*c.at = new(columns.NewBinary[int32](mem, arrow.BinaryTypes.String))
		}
	}
	return r
}

// Next implements dataset.Reader.
func (r *reader) Next(ctx context.Context) (*block.Block, error) {
	for {
		if r.left == 0 {
			return nil, io.EOF
		}
		if r.i >= r.to {
			if r.pauses() {
				return r.take(), nil
			}
			err := r.more(ctx)
			if err == io.EOF && r.rows > 0 {
				return r.take(), nil
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		full, err := r.fill()
		if err != nil {
			return nil, err
		}
		if full {
			return r.take(), nil
		}
	}
}

// stream reports whether standard input is being read.
func (r *reader) stream() bool { return r.text != nil && r.cur.File.Path == file.StdinPath }

// pauses reports whether rows are held while nothing more has arrived: someone may be watching, so they are not held back.
func (r *reader) pauses() bool { return r.rows > 0 && r.stream() && !file.Stdin.Ready() }

// fill takes lines until they end or the block is full.
func (r *reader) fill() (full bool, err error) {
	for r.i < r.to {
		pos := r.lines.Base + uint64(r.i)
		if pos >= r.cur.End {
			r.i = r.to
			return false, nil
		}
		end := r.i + bytes.IndexByte(r.lines.Buf[r.i:r.to], '\n')
		line := r.lines.Buf[r.i:end]
		r.i = end + 1
		if len(line) > int(r.src.opt.MaxLine) {
			if err := r.bad(pos, r.tooLong()); err != nil {
				return false, err
			}
			continue
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		line, ok := r.decode(line)
		if !ok {
			err := r.bad(pos, &LineError{Msg: "is not UTF-8; pass encoding=latin1 or encoding=windows-1252 if it is that, or invalid=replace to read each fault as U+FFFD",
				class: "text is not UTF-8"})
			if err != nil {
				return false, err
			}
			continue
		}
		if r.place(line, pos); r.full() {
			return true, nil
		}
	}
	return false, nil
}

// decode makes a line UTF-8.
func (r *reader) decode(line []byte) (text []byte, ok bool) {
	if r.table != nil {
		r.decoded = charset.Append(r.decoded[:0], line, r.table)
		return r.decoded, true
	}
	if utf8.Valid(line) {
		return line, true
	}
	if r.src.opt.Invalid == InvalidReplace {
		r.decoded = charset.AppendValid(r.decoded[:0], line)
		return r.decoded, true
	}
	return nil, false
}

// place appends a row.
func (r *reader) place(line []byte, pos uint64) {
	if r.paths != nil {
		r.paths.Push([]byte(r.cur.File.Path))
	}
	if r.texts != nil {
		r.texts.Push(line)
	}
	r.rows++
	if n := len(r.runs); n > 0 {
		if run := &r.runs[n-1]; run.File == r.cur.ID && pos-run.First <= math.MaxUint32 {
			run.Offsets = append(run.Offsets, uint32(pos-run.First))
			run.N++
			return
		}
	}
	r.runs = append(r.runs, block.Run{File: r.cur.ID, First: pos, N: 1, Offsets: append(make([]uint32, 0, 64), 0)})
}

// full reports whether the block should be closed.
func (r *reader) full() bool {
	n := 0
	if r.paths != nil {
		n += r.paths.Bytes()
	}
	if r.texts != nil {
		n += r.texts.Bytes()
	}
	return r.rows >= r.maxRow || n >= r.target
}

// take closes the block.
func (r *reader) take() *block.Block {
	var cols []arrow.Array
	for _, c := range []*columns.Binary[int32]{r.paths, r.texts} {
		if c != nil {
			data := c.Take()
			cols = append(cols, array.MakeFromData(data))
			data.Release()
		}
	}
	rec := block.FromColumns(r.schema, cols, r.rows)
	for _, c := range cols {
		c.Release()
	}
	b := block.New(rec, block.FromRuns(r.runs...))
	if r.left > 0 {
		r.left -= int64(r.rows)
		r.maxRow = int(min(int64(r.maxRow), max(r.left, 1)))
	}
	r.rows, r.runs = 0, nil
	return b
}

func (r *reader) tooLong() *LineError {
	return &LineError{Msg: fmt.Sprintf("is longer than max_line=%s; raise max_line to read it", r.src.opt.MaxLine), class: "line too long"}
}

// bad reports the line at pos as a failed row.
func (r *reader) bad(pos uint64, e *LineError) error {
	e.Offset = pos
	row := dataset.FailedRow(r.cur.ID, pos)
	defer row.Release()
	return r.rt.Fail(row, 0, e)
}

// more gets the next lines, opening the next range when one ends. io.EOF ends the split.
func (r *reader) more(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.text == nil {
		if len(r.ranges) == 0 {
			return io.EOF
		}
		return r.open()
	}
	var from, to int
	err := r.blocking(func() (err error) {
		from, to, err = r.lines.Next()
		return err
	})
	switch err {
	case nil:
		r.i, r.to = from, to
		return nil
	case io.EOF:
		return r.finish()
	case lines.ErrLong:
		if err := r.bad(r.lines.Pos(), r.tooLong()); err != nil {
			return err
		}
		if err = r.lines.Skip(); err == nil {
			return nil
		}
	}
	if err := r.text.Damaged(err, r.rt, r.cur.ID, r.lines.Pos()); err != nil {
		return err
	}
	return r.finish()
}

// blocking runs fn, and gives the processor back meanwhile if it may wait for standard input.
func (r *reader) blocking(fn func() error) error {
	if r.stream() {
		return r.rt.Blocking("read standard input", fn)
	}
	return fn()
}

// open starts the next range.
func (r *reader) open() error {
	r.cur, r.ranges = r.ranges[0], r.ranges[1:]
	start := max(r.cur.Start, r.offset)
	r.offset, r.i, r.to = 0, 0, 0
	if start >= r.cur.End {
		return nil
	}
	from := start
	if from > 0 {
		from-- // the byte before tells whether a line starts right at the range
	}
	at := int64(from)
	if r.cur.End == file.Unbounded || start <= uint64(len(charset.Mark)) {
		at = 0 // what comes before has to be decoded, or may be a byte order mark, behind which a line starts
	}
	t, err := r.src.set.OpenText(r.ctx, r.cur.File, at)
	if err != nil {
		return err
	}
	r.text = t
	var in io.Reader = t
	skipped := uint64(at)
	if at == 0 {
		err = r.blocking(func() (err error) {
			in, skipped, _, err = charset.Reader(t, r.src.opt.Encoding)
			return err
		})
	}
	if err == nil && at == 0 && from > skipped {
		_, err = io.CopyN(io.Discard, in, int64(from-skipped))
		skipped = from
		if err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		if err := t.Damaged(err, r.rt, r.cur.ID, 0); err != nil {
			return err
		}
		return r.finish()
	}
	if r.cur.End, err = t.End(r.cur); err != nil {
		return err
	}
	r.lines.Open(in, skipped, r.cur.End)
	if start > skipped {
		return r.lines.Skip()
	}
	return nil
}

// finish ends a range: a file that changed meanwhile is an error.
func (r *reader) finish() error {
	err := errors.Join(r.text.Check(), r.text.Close())
	r.text = nil
	return err
}

// Close implements dataset.Reader.
func (r *reader) Close() error {
	for _, c := range []*columns.Binary[int32]{r.paths, r.texts} {
		if c != nil {
			c.Release()
		}
	}
	r.lines.Release()
	if r.text == nil {
		return nil
	}
	err := r.text.Close()
	r.text = nil
	return err
}
