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
	r.info, r.stretch, r.guessed = nil, nil, false
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
		return fmt.Errorf("read the columns of %s: %w", r.cur.File.Path, err)
	}
	r.numbered = r.stream() || recoded // cannot be read, or not counted, a second time
	if r.cur.End, err = t.End(r.cur); err != nil {
		return err
	}
	r.in.open(in, skipped, r.cur.End)
	if r.cur.End >= uint64(r.cur.File.Size) {
		return nil
	}
	info, err := r.src.info(ctx, r.cur.File)
	if errors.Is(err, errNoHeader) {
		return nil
	}
	if err == nil {
		r.info, r.stretch = info, info.cuts.add(int64(skipped), true)
	}
	return err
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
	r.info = info
	if err := r.seek(ctx, r.dec.rows == 0 && info.guessing()); err != nil {
		return err
	}
	if !*r.src.opt.Header {
		return r.use(placeNames(len(r.dec.pin.fields), fieldNames(r.dec.pin)))
	}
	return r.use(info.header)
}

// seek opens the range at its first record. With guess the place may be wrong; settle then says so, before anything that was read is shown.
func (r *reader) seek(ctx context.Context, guess bool) error {
	before := max(r.cur.Start-1, uint64(r.info.cuts.start))
	pos, known := r.info.first(r.cur.Start)
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
		var s state
		if s, r.guessed, err = r.stateAt(ctx, before, guess); err != nil {
			return err
		}
		if _, err := r.in.skip(r.dec.dialect, s); err != nil {
			return err
		}
	}
	r.counted = r.in.lo
	r.stretch = r.info.cuts.add(int64(r.in.base)+int64(r.in.lo), !r.guessed)
	return nil
}

// passed tells the readers of other ranges how far the records of this one are known.
func (r *reader) passed() {
	if r.stretch != nil {
		r.stretch.passed(int64(r.in.base) + int64(r.in.lo))
	}
}

// errMisled reports that the range was begun at the wrong place.
var errMisled = errors.New("no record starts where one was guessed")

// settle makes sure that the range was begun at its first record. It must have been called before anything that was read of the range leaves
// the reader. By then the reader of the range before is mostly done, or has little left, so that few bytes need to be looked at for it.
func (r *reader) settle() error {
	if !r.guessed {
		return nil
	}
	right := false
	if pos, known := r.info.first(r.cur.Start); known {
		right = int64(pos) == r.stretch.from
	} else {
		s, _, err := r.stateAt(r.ctx, uint64(r.stretch.from), false)
		if err != nil {
			return err
		}
		right = s == atRecord
	}
	if !right {
		return errMisled
	}
	r.stretch = r.info.cuts.add(r.stretch.from, true)
	r.guessed = false
	return nil
}

// restart reads the range again, from its first record.
func (r *reader) restart(ctx context.Context) error {
	r.info.mislead()
	r.dec.forget()
	r.guessed, r.loaded, r.lines, r.numbered = false, 0, 0, false
	if r.text != nil {
		if err := r.text.Close(); err != nil {
			return err
		}
		r.text = nil
	}
	return r.seek(ctx, false)
}

// stateAt is the state of the machine before the byte at pos. guess asks for what the text behind it shows, which costs next to nothing;
// guessed says that this is what came.
func (r *reader) stateAt(ctx context.Context, pos uint64, guess bool) (s state, guessed bool, err error) {
	h, err := r.src.set.FS().Open(ctx, r.cur.File)
	if err != nil {
		return 0, false, err
	}
	c, mem := r.info.cuts, r.rt.Allocator()
	if guess {
		s, guessed, err = c.guess(ctx, h, mem, int64(pos))
	}
	if err == nil && !guessed {
		s, err = c.stateAt(ctx, h, mem, int64(pos))
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return 0, false, fmt.Errorf("find records of %s: %w", r.cur.File.Path, err)
	}
	return s, guessed, nil
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
