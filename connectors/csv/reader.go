package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
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
	offset uint64 // records of the first range below it are skipped
	dec    *decoder
	in     chunks
	text   *file.Text

	cur      dataset.SplitRange // the range being read
	from     uint64             // its records below are skipped
	headed   bool               // the columns of the file are known
	loaded   int                // the parser has the bytes up to here; 0: none
	lines    int64              // newlines of the file up to buf[counted], if numbered
	counted  int
	numbered bool

	info    *fileInfo // of the file being read, if it is cut
	stretch *stretch  // what was parsed of it
	guessed bool      // that a record starts where the stretch does is not certain

	left int64 // rows still wanted; negative: all
}

func newReader(ctx context.Context, s *Source, p *pinned, rt dataset.Runtime, split dataset.Split, offset uint64) (*reader, error) {
	mem := rt.Allocator()
	dec, err := newDecoder(mem, s.opt, p, s.projected(p), rt.BlockRows(), rt.BlockBytes())
	if err != nil {
		return nil, err
	}
	s.set.Warn(rt.Warn)
	for _, n := range p.notes {
		rt.Warn(n.class, n.example)
	}
	r := &reader{src: s, rt: rt, ctx: ctx, ranges: split.Ranges, offset: offset, dec: dec, in: chunks{mem: mem}, left: -1}
	if s.limit > 0 {
		r.left = s.limit
		r.dec.maxRow = int(min(int64(r.dec.maxRow), r.left))
	}
	return r, nil
}

// Next implements dataset.Reader.
func (r *reader) Next(ctx context.Context) (*block.Block, error) {
	for {
		b, err := r.next(ctx)
		if err == errMisled {
			if err = r.restart(ctx); err == nil {
				continue
			}
		}
		return b, err
	}
}

func (r *reader) next(ctx context.Context) (*block.Block, error) {
	for {
		if r.left == 0 {
			return nil, io.EOF
		}
		if r.loaded == 0 || r.in.lo >= r.loaded {
			if r.pauses() {
				return r.take()
			}
			err := r.more(ctx)
			if err == io.EOF && r.dec.rows > 0 {
				return r.take()
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
			return r.take()
		}
	}
}

// take closes the block.
func (r *reader) take() (*block.Block, error) {
	if err := r.settle(); err != nil {
		return nil, err
	}
	if r.left > 0 {
		r.left -= int64(r.dec.rows)
		r.dec.maxRow = int(min(int64(r.dec.maxRow), max(r.left, 1)))
	}
	return r.dec.take(), nil
}

// stream reports whether standard input is being read.
func (r *reader) stream() bool { return r.text != nil && r.cur.File.Path == file.StdinPath }

// pauses reports whether rows are held while nothing more has arrived: someone may be watching, so they are not held back.
func (r *reader) pauses() bool { return r.dec.rows > 0 && r.stream() && !file.Stdin.Ready() }

// parse parses the records at hand until they end or the block is full.
func (r *reader) parse() (full bool, err error) {
	d := r.dec
	base, end, i := r.in.base, r.cur.End, r.in.lo
	defer func() { r.in.lo = i }()
	check := i + checkBytes
	for i < r.loaded {
		pos := base + uint64(i)
		if pos >= end {
			r.loaded = 0
			return false, nil
		}
		if !r.headed {
			if i, err = r.header(i); err != nil || !r.headed {
				return false, err
			}
			continue
		}
		next, row := d.record(i)
		switch {
		case next == incomplete:
			r.loaded = 0
			return false, nil
		case next == failed:
			next, err = r.broken(i, pos)
			if err != nil || next == incomplete {
				return false, err
			}
		case row && next-i > int(r.src.opt.MaxRecord):
			d.undo(d.rows - 1)
			if err := r.bad(i, r.tooLong(i)); err != nil {
				return false, err
			}
		case row && pos < r.from:
			d.undo(d.rows - 1)
		case row:
			d.place(r.cur.ID, r.cur.File.Path, pos)
			if d.rows%checkRows == 0 || d.rows == d.maxRow || next >= check {
				check = next + checkBytes
				if d.full() {
					i = next
					return true, nil
				}
			}
		}
		i = next
	}
	return false, nil
}

// broken reports the record at i, which failed, and returns the position of the next one, or incomplete.
func (r *reader) broken(i int, pos uint64) (next int, err error) {
	n, _, done := r.dec.advance(atRecord, r.in.buf[i:r.loaded])
	if !done && !r.dec.final {
		r.loaded = 0
		return incomplete, nil
	}
	e := r.dec.recordError(i, r.dec.names)
	switch {
	case pos < r.from:
		return i + n, nil
	case n > int(r.src.opt.MaxRecord): // what is said of it must not depend on how much of it was at hand
		e = r.tooLong(i)
	}
	return i + n, r.bad(i, e)
}

// header takes the names of the file's columns from the record at i and returns the position after it.
func (r *reader) header(i int) (int, error) {
	d := r.dec
	if next, blank := d.blank(i); blank {
		return next, nil
	}
	if !*r.src.opt.Header {
		return i, r.use(placeNames(len(d.pin.fields), fieldNames(d.pin)))
	}
	fields, next := d.recordText(i, r.src.opt.MaxColumns)
	switch next {
	case incomplete:
		r.loaded = 0
		return i, nil
	case failed:
		e := d.recordError(i, nil)
		return i, fmt.Errorf("read the columns of %s: %w", r.cur.File.Path, e)
	}
	return next, r.use(uniqueNames(fields))
}

func fieldNames(p *pinned) []string {
	out := make([]string, len(p.fields))
	for i, f := range p.fields {
		out[i] = f.Name
	}
	return out
}

// use sets the columns of the file and says how they differ from the pinned ones.
func (r *reader) use(h header) error {
	r.headed = true
	missing, unknown := r.dec.use(h.names)
	if len(missing) > 0 {
		r.rt.Warn("columns that a file lacks", fmt.Sprintf("%s has no column %s: they are null there", r.cur.File.Path, listed(missing)))
	}
	if len(unknown) > 0 {
		r.rt.Warn("columns that the schema does not have", fmt.Sprintf("%s of %s are left out: the files that the schema is inferred from lack them",
			listed(unknown), r.cur.File.Path))
	}
	return nil
}

// listed writes some names.
func listed(names []string) string {
	const most = 10
	rest := ""
	if n := len(names); n > most {
		names, rest = names[:most], fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ") + rest
}

// more gets more records, opening the next range when one ends. io.EOF ends the split.
func (r *reader) more(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.text == nil {
		if len(r.ranges) == 0 {
			return io.EOF
		}
		return r.open(ctx)
	}
	if r.in.base+uint64(r.in.lo) >= r.cur.End || r.in.eof && r.in.lo >= r.in.hi {
		return r.finish()
	}
	r.countLines(r.in.lo)
	r.passed()
	err := r.read()
	r.counted = r.in.lo
	if err == errLong {
		err = r.passLong()
		if err == nil {
			return nil
		}
	}
	if err != nil {
		return r.damaged(err)
	}
	r.loaded = r.in.to
	r.dec.load(r.in.buf, r.in.lo, r.in.to, r.in.eof && r.in.to == r.in.hi)
	return nil
}

// damaged ends the file at an error of its text: what of it the policy lets pass is a failed row, and the next file comes.
func (r *reader) damaged(err error) error {
	r.loaded = 0
	if !r.headed {
		return err
	}
	if err := r.text.Damaged(err, r.rt, r.cur.ID, r.in.base+uint64(r.in.lo)); err != nil {
		return err
	}
	return r.finish()
}

// read reads on. A wait for standard input gives the processor back.
func (r *reader) read() error {
	limit := int(r.src.opt.MaxRecord)
	if !r.stream() {
		return r.in.more(limit)
	}
	return r.rt.Blocking("read standard input", func() error { return r.in.more(limit) })
}

// passLong reports the record at hand as too long and passes it.
func (r *reader) passLong() error {
	if !r.headed {
		return fmt.Errorf("read the columns of %s: %w", r.cur.File.Path, r.tooLong(r.in.lo))
	}
	if r.in.base+uint64(r.in.lo) >= r.from {
		if err := r.bad(r.in.lo, r.tooLong(r.in.lo)); err != nil {
			return err
		}
	}
	lines, err := r.in.skip(r.dec.dialect, atRecord)
	r.lines += lines
	r.counted, r.loaded = r.in.lo, 0
	return err
}

func (r *reader) tooLong(i int) *RecordError {
	e := &RecordError{Msg: fmt.Sprintf("longer than max_record=%s", dataset.ByteSize(r.src.opt.MaxRecord)), Remedy: "raise max_record to read it",
		class: "record too long"}
	if q := r.dec.quote; q != 0 && bytes.IndexByte(r.in.buf[i:r.in.hi], q) >= 0 {
		e.Remedy += ", or pass quote=\"\" if a quote in it is ordinary text"
	}
	return e
}

// bad reports the record at i as a failed row.
func (r *reader) bad(i int, e *RecordError) error {
	if err := r.settle(); err != nil {
		return err
	}
	pos := r.in.base + uint64(i)
	e.Offset = pos
	r.startLines(pos, i)
	if r.numbered {
		r.countLines(i)
		e.Line = r.lines + 1
	}
	row := dataset.FailedRow(r.cur.ID, pos)
	defer row.Release()
	return r.rt.Fail(row, 0, e)
}

// countLines counts the newlines up to buf[i], once somebody wants to know.
func (r *reader) countLines(i int) {
	if r.numbered && i > r.counted {
		r.lines += int64(bytes.Count(r.in.buf[r.counted:i], []byte{'\n'}))
		r.counted = i
	}
}

// Close implements dataset.Reader.
func (r *reader) Close() error {
	if !r.guessed {
		r.warnRagged()
	}
	r.dec.release()
	r.in.release()
	if r.text == nil {
		return nil
	}
	err := r.text.Close()
	r.text = nil
	return err
}

// warnRagged reports the ragged records that the policy let pass.
func (r *reader) warnRagged() {
	for _, x := range []struct {
		n    *int64
		what string
	}{{&r.dec.short, "had too few fields and were filled with nulls"}, {&r.dec.long, "had too many fields and were cut"},
		{&r.dec.left, "had too few or too many fields and were left out"}} {
		if *x.n > 0 {
			r.rt.Warn("ragged records", fmt.Sprintf("%d records of %s %s", *x.n, r.cur.File.Path, x.what))
		}
		*x.n = 0
	}
}

// finish ends a range: a file that changed meanwhile is an error.
func (r *reader) finish() error {
	if err := r.settle(); err != nil {
		return err
	}
	r.passed()
	r.warnRagged()
	err := errors.Join(r.text.Check(), r.text.Close())
	r.text = nil
	if pos := r.in.base + uint64(r.in.lo); err == nil && pos >= r.cur.End && r.info != nil {
		r.info.found(r.cur.End, pos)
	}
	return err
}
