package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/dataset"
)

// open starts the next range.
func (r *reader) open(ctx context.Context) error {
	r.cur, r.ranges = r.ranges[0], r.ranges[1:]
	r.from, r.offset = max(r.cur.Start, r.offset), 0
	r.headed, r.loaded, r.lines, r.counted, r.numbered = false, 0, 0, 0, false
	if r.from >= r.cur.End {
		return nil
	}
	if r.cur.Start > 0 {
		return r.openInside(ctx)
	}
	t, err := r.src.set.OpenText(r.ctx, r.cur.File, 0)
	if err != nil {
		return err
	}
	r.text = t
	var in io.Reader
	var skipped uint64
	var recoded bool
	open := func() (err error) {
		in, skipped, recoded, err = charset.Reader(t, r.src.opt.Encoding)
		return err
	}
	if r.stream() {
		err = r.rt.Blocking("read standard input", open)
	} else {
		err = open()
	}
	if err != nil {
		return err
	}
	r.numbered = r.stream() || recoded // cannot be read, or not counted, a second time
	r.in.open(in, skipped, r.cur.End)
	return nil
}

// openInside starts a range that is not the first of its file: what the start of the file says is looked up, and the record that the range
// begins in is the range before's.
func (r *reader) openInside(ctx context.Context) error {
	info, err := r.src.info(ctx, r.cur.File)
	if errors.Is(err, errNoHeader) {
		return nil // the first range reports it
	}
	if err != nil {
		return err
	}
	if *r.src.opt.Header {
		r.from = max(r.from, info.behind)
	}
	before := max(r.cur.Start-1, uint64(info.cuts.start))
	pos, known := info.first(r.cur.Start)
	if known {
		before = pos
	}
	t, err := r.src.set.OpenText(r.ctx, r.cur.File, int64(before))
	if err != nil {
		return err
	}
	r.text = t
	r.in.open(t, before, max(r.cur.End, before))
	if before < r.cur.Start { // else a record starts there
		s, err := r.stateAt(ctx, info, before)
		if err != nil {
			return err
		}
		if _, err := r.in.skip(r.dec.dialect, s); err != nil {
			return err
		}
	}
	r.counted = r.in.lo
	if !*r.src.opt.Header {
		return r.use(placeNames(len(r.dec.pin.fields), fieldNames(r.dec.pin)))
	}
	return r.use(info.header)
}

// stateAt is the state of the machine before the byte at pos.
func (r *reader) stateAt(ctx context.Context, info *fileInfo, pos uint64) (state, error) {
	h, err := r.src.set.FS().Open(ctx, r.cur.File)
	if err != nil {
		return 0, err
	}
	s, err := info.cuts.stateAt(ctx, h, r.rt.Allocator(), int64(pos))
	if err = errors.Join(err, h.Close()); err != nil {
		return 0, fmt.Errorf("find records of %s: %w", r.cur.File.Path, err)
	}
	return s, nil
}

// maxCount is how far into a file lines are counted again to number a broken record.
const maxCount = 256 << 20

// startLines finds how many lines come before pos, which is that of buf[i], once, when the first broken record needs its number. A record
// that cannot be numbered cheaply is named by its byte offset alone.
func (r *reader) startLines(pos uint64, i int) {
	if r.numbered || pos > maxCount {
		return
	}
	if n, err := r.src.countLines(r.ctx, r.cur.File, int64(pos)); err == nil {
		r.lines, r.counted, r.numbered = n, i, true
	}
}

// countLines counts the newlines before position end of a file.
func (s *Source) countLines(ctx context.Context, ref dataset.FileRef, end int64) (n int64, err error) {
	t, err := s.set.OpenText(ctx, ref, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	buf := make([]byte, 64<<10)
	for end > 0 {
		k, err := t.Read(buf[:min(int64(len(buf)), end)])
		n += int64(bytes.Count(buf[:k], []byte{'\n'}))
		end -= int64(k)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}
