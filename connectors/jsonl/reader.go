package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/lines"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

const (
	// checkRows and checkBytes are how often the size of the growing block is asked for.
	checkRows  = 256
	checkBytes = 64 << 10
)

// reader reads one split.
type reader struct {
	src    *Source
	rt     dataset.Runtime
	ctx    context.Context // of Open: files stay open across calls
	ranges []dataset.SplitRange
	offset uint64 // lines of the first range below it are skipped
	dec    *decoder
	lines  *lines.Chunks
	text   *file.Text
	form   form // of the file

	cur     dataset.SplitRange // the range being read
	start   uint64             // its first position, the offset applied
	i, to   int                // the lines still to parse are lines.Buf[i:to]
	line    int64              // lines before i in this range
	base    int64              // lines before the range
	hasBase bool

	left int64 // rows still wanted; negative: all
}

func newReader(ctx context.Context, s *Source, p *pinned, rt dataset.Runtime, split dataset.Split, offset uint64) (*reader, error) {
	mem := rt.Allocator()
	dec, err := newDecoder(mem, s.opt, p, s.projected(p), rt.BlockRows(), rt.BlockBytes())
	if err != nil {
		return nil, err
	}
	s.set.Warn(rt.Warn)
	for _, c := range p.lossy {
		rt.Warn("numbers past 64 bits", fmt.Sprintf("column %q is read as float64, which rounds them; pass schema=%q to keep every digit", c, c+":string"))
	}
	r := &reader{src: s, rt: rt, ctx: ctx, ranges: split.Ranges, offset: offset, dec: dec,
		lines: lines.New(mem, int(s.opt.MaxLine)), left: -1}
	if s.limit > 0 {
		r.left = s.limit
		r.dec.maxRow = int(min(int64(r.dec.maxRow), r.left))
	}
	return r, nil
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
			if err == io.EOF && r.dec.rows > 0 {
				return r.take(), nil
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		full, err := r.parse()
		if err != nil {
			return nil, err
		}
		if full {
			return r.take(), nil
		}
	}
}

// take closes the block.
func (r *reader) take() *block.Block {
	if r.left > 0 {
		r.left -= int64(r.dec.rows)
		r.dec.maxRow = int(min(int64(r.dec.maxRow), max(r.left, 1)))
	}
	return r.dec.take()
}

// stream reports whether standard input is being read.
func (r *reader) stream() bool { return r.text != nil && r.cur.File.Path == file.StdinPath }

// pauses reports whether rows are held while nothing more has arrived: someone may be watching, so they are not held back.
func (r *reader) pauses() bool { return r.dec.rows > 0 && r.stream() && !file.Stdin.Ready() }

// next gets the next chunk. A wait for standard input gives the processor back.
func (r *reader) next() (from, to int, err error) {
	if !r.stream() {
		return r.lines.Next()
	}
	err = r.rt.Blocking("read standard input", func() (err error) {
		from, to, err = r.lines.Next()
		return err
	})
	return from, to, err
}

// parse parses lines of the current chunk until it ends or the block is full.
func (r *reader) parse() (full bool, err error) {
	d := r.dec
	d.buf = r.lines.Buf
	base, end := r.lines.Base, r.cur.End
	check := r.i + checkBytes
	for r.i < r.to {
		from := r.i
		pos := base + uint64(from)
		if pos >= end {
			r.i = r.to
			return false, nil
		}
		at := from
		if pos == 0 && bytes.HasPrefix(d.buf[from:], []byte("\xef\xbb\xbf")) {
			at += 3
		}
		next, row := d.line(at)
		if next < 0 {
			next = d.lineEnd(from)
			if err := r.bad(pos, d.lineError(from)); err != nil {
				return false, err
			}
		} else if row && next-1-from > r.lines.MaxLine() {
			d.undo()
			if err := r.bad(pos, tooLong(0, dataset.ByteSize(r.lines.MaxLine()))); err != nil {
				return false, err
			}
			row = false
		}
		if r.form == formLines || d.buf[d.space(from)] != '\n' {
			r.line++
		}
		r.i = next
		if !row {
			continue
		}
		d.place(r.cur.ID, r.cur.File.Path, pos)
		if d.rows%checkRows == 0 || d.rows == d.maxRow || next >= check {
			check = next + checkBytes
			if d.full() {
				return true, nil
			}
		}
	}
	return false, nil
}

// more gets the next chunk of lines, opening the next range when one ends. io.EOF ends the split.
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
	from, to, err := r.next()
	switch err {
	case nil:
		r.i, r.to = from, to
		return nil
	case io.EOF:
		return r.finish()
	case lines.ErrLong:
		pos := r.lines.Pos()
		if err := r.bad(pos, tooLong(0, dataset.ByteSize(r.lines.MaxLine()))); err != nil {
			return err
		}
		r.line++
		if err = r.lines.Skip(); err == nil {
			return nil
		}
	}
	if a, ok := errors.AsType[*ArrayError](err); ok {
		err = r.failed(r.lines.Pos(), a)
	} else {
		err = r.text.Damaged(err, r.rt, r.cur.ID, r.lines.Pos())
	}
	if err != nil {
		return err
	}
	return r.finish()
}

// open starts the next range.
func (r *reader) open() (err error) {
	r.cur, r.ranges = r.ranges[0], r.ranges[1:]
	r.start = max(r.cur.Start, r.offset)
	r.offset = 0
	r.line, r.base, r.hasBase = 0, 0, r.start == 0
	if r.start >= r.cur.End {
		return nil
	}
	from := r.start
	if from > 0 {
		from-- // the byte before tells whether a line starts right at the range
	}
	if r.form, err = formOf(r.ctx, r.src.set, r.cur.File); err != nil {
		return err
	}
	if r.form != formLines {
		return r.openValues(from)
	}
	t, err := r.src.set.OpenTextTo(r.ctx, r.cur.File, int64(from), int64(min(r.cur.End, math.MaxInt64)))
	if err != nil {
		return err
	}
	r.text = t
	if r.cur.End, err = t.End(r.cur); err != nil {
		return err
	}
	r.lines.Open(t, from, r.cur.End)
	if r.start > 0 {
		return r.lines.Skip()
	}
	return nil
}

// openValues starts a file whose values are no lines. They are found from its start on, wherever reading begins.
func (r *reader) openValues(from uint64) error {
	t, err := r.src.set.OpenText(r.ctx, r.cur.File, 0)
	if err != nil {
		return err
	}
	r.text = t
	v := newValueReader(t, r.form)
	if _, err := io.CopyN(io.Discard, v, int64(from)); err != nil && err != io.EOF {
		return err
	}
	r.base, r.hasBase = v.values, true
	if r.cur.End, err = t.End(r.cur); err != nil {
		return err
	}
	r.lines.Open(v, from, r.cur.End)
	if r.start > 0 {
		return r.lines.Skip()
	}
	return nil
}

// finish ends a range: a file that changed meanwhile is an error.
func (r *reader) finish() error {
	err := r.text.Check()
	err = errors.Join(err, r.text.Close())
	r.text = nil
	return err
}

// tooLong describes a line, or one whose number is not known (0), that is longer than the limit.
func tooLong(line int64, limit dataset.ByteSize) *LineError {
	return &LineError{Line: line, Msg: fmt.Sprintf("longer than max_line=%s", limit),
		Remedy: "raise max_line to read it", class: "line too long"}
}

// bad reports the line at pos as a failed row.
func (r *reader) bad(pos uint64, e *LineError) error {
	e.Offset = pos
	if r.countBase() {
		e.Line = r.base + r.line + 1
	}
	e.unit = r.form.unit()
	return r.failed(pos, e)
}

// failed reports the row at pos.
func (r *reader) failed(pos uint64, err error) error {
	row := dataset.FailedRow(r.cur.ID, pos)
	defer row.Release()
	return r.rt.Fail(row, 0, err)
}

// maxCount is how far into a file lines are counted again to number a broken one.
const maxCount = 256 << 20

// countBase finds how many lines come before the range, once, when the first broken line needs its number. A line that cannot be
// numbered cheaply is named by its byte offset alone.
func (r *reader) countBase() bool {
	if r.hasBase || r.start > maxCount {
		return r.hasBase
	}
	n, err := r.src.countLines(r.ctx, r.cur.File, int64(r.start))
	r.base, r.hasBase = n, err == nil
	return r.hasBase
}

// countLines counts the lines that start before position end of a file.
func (s *Source) countLines(ctx context.Context, ref dataset.FileRef, end int64) (n int64, err error) {
	t, err := s.set.OpenText(ctx, ref, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	buf := make([]byte, 64<<10)
	started := false
	for end > 0 {
		k, err := t.Read(buf[:min(int64(len(buf)), end)])
		n += int64(bytes.Count(buf[:k], []byte{'\n'}))
		if k > 0 {
			started = buf[k-1] != '\n'
		}
		end -= int64(k)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if started { // the line at end-1 goes on into the range and is the range before's
		n++
	}
	return n, nil
}

// Close implements dataset.Reader.
func (r *reader) Close() error {
	r.warnExtras("", r.dec.obj)
	r.dec.release()
	r.lines.Release()
	if r.text == nil {
		return nil
	}
	err := r.text.Close()
	r.text = nil
	return err
}

// warnExtras reports the keys that the schema lacks.
func (r *reader) warnExtras(at string, o *object) {
	if r.src.opt.Extra != ExtraIgnore {
		return
	}
	o.eachExtra(at, func(path string, count int64) {
		r.rt.Warn("keys that the schema does not have", fmt.Sprintf("%q in %d rows of %s; pass extra=column to keep them", path, count, r.cur.File.Path))
	})
}
