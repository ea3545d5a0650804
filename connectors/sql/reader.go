package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// reader reads the ranges of one split.
type reader struct {
	src     *Source
	ctx     context.Context // of Open: queries go on across calls
	rt      dataset.Runtime
	rel     *relation
	view    view
	release func() error
	schema  *arrow.Schema
	cols    []column
	where   string
	args    []any
	ranges  []dataset.SplitRange
	offset  uint64
	left    int64 // rows still wanted; negative: all

	cur  dataset.SplitRange
	name naming
	rows rows
	next uint64 // position of the next row, or where none may lie before
}

// check refuses a range that was listed in a state of the database which is not the one that is read.
func (r *reader) check(ref dataset.FileRef) error {
	now := r.view.pin()
	if ref.Size != now.Size || !ref.ModTime.Equal(now.ModTime) || ref.ETag != now.ETag {
		return fmt.Errorf("%w: %s", dataset.ErrChanged, ref.Path)
	}
	_, _, _, err := r.meaning(ref.Path)
	return err
}

// meaning says how positions of a path are to be read.
func (r *reader) meaning(path string) (n naming, lo, hi int64, err error) {
	rest, ok := strings.CutPrefix(path, r.src.shown)
	if !ok {
		return n, 0, 0, fmt.Errorf("the split names %s, which is another source", path)
	}
	tag := ""
	if v := r.view.version(); v != "" {
		tag = versionTag + v
	}
	switch {
	case rest == "" || rest == signedMark:
		if r.rel.key.scheme != byKey {
			return n, 0, 0, fmt.Errorf("the key by which %s was divided is gone; begin anew with --overwrite", path)
		}
		return naming{scheme: byKey, signed: rest != "", path: path}, 0, 0, nil
	case rest == placeMark+tag:
		return naming{scheme: byPlace, path: path}, 0, 0, nil
	case rest == countMark+tag:
		return naming{scheme: byCount, path: path}, 0, 0, nil
	case strings.HasPrefix(rest, tag+rangeMark):
		lo, hi, nulls, err := parseRange(rest[len(tag+rangeMark):])
		return naming{scheme: byRange, nulls: nulls, path: path}, lo, hi, err
	case strings.HasPrefix(rest, tag+textMark):
		text, nulls, err := parseSpan(rest[len(tag+textMark):])
		return naming{scheme: byText, nulls: nulls, text: text, path: path}, 0, 0, err
	}
	return n, 0, 0, goneState(path)
}

// Next implements dataset.Reader.
func (r *reader) Next(ctx context.Context) (*block.Block, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if r.left == 0 || r.rows == nil && len(r.ranges) == 0 {
			return nil, io.EOF
		}
		if r.rows == nil {
			if err := r.open(ctx); err != nil {
				return nil, r.failed(ctx, err)
			}
			continue
		}
		b, err := r.block(ctx)
		if err != nil {
			return nil, r.failed(ctx, err)
		}
		if b != nil {
			return b, nil
		}
	}
}

// failed classifies an error: when the state of the database is lost, the engine opens the split again.
func (r *reader) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if _, ok := errors.AsType[*dataset.RowError](err); ok { // it says where the row is
		return err
	}
	if r.src.session.mark(r.view, err) {
		r.rt.Warn("the snapshot of the database was lost", r.src.shown)
		if _, ok := errors.AsType[*dataset.TransientError](err); !ok {
			err = &dataset.TransientError{Err: err}
		}
	}
	return r.src.named(err)
}

// open begins the next range.
func (r *reader) open(ctx context.Context) error {
	r.cur, r.ranges = r.ranges[0], r.ranges[1:]
	from := max(r.cur.Start, r.offset)
	r.offset = 0
	if from >= r.cur.End {
		return nil
	}
	n, lo, hi, err := r.meaning(r.cur.File.Path)
	if err != nil {
		return err
	}
	s := scan{rel: r.rel, cols: r.cols, where: r.where, args: r.args, limit: max(r.left, 0)}
	switch n.scheme {
	case byKey, byPlace:
		first, end := n.key(from), n.key(r.cur.End)
		s.from, s.to = &first, &end
	case byRange:
		s.skip = from
		if s.nulls = n.nulls; !s.nulls {
			s.from = &lo
			if end := hi + 1; hi < math.MaxInt64 {
				s.to = &end
			}
		}
	default:
		s.skip, s.nulls, s.text = from, n.nulls, n.text
	}
	if n.scheme == byCount {
		plain := *r.rel
		plain.key = key{scheme: byCount}
		s.rel = &plain
	}
	r.name, r.next = n, from
	r.rows, err = r.view.rows(ctx, r.rt.Blocking, s)
	return err
}

// block reads rows up to the target; nil if none was left in the range, or all of them failed.
func (r *reader) block(ctx context.Context) (*block.Block, error) {
	p := newPiece(r)
	defer p.release()
	most, target := max(r.rt.BlockRows(), 1), max(r.rt.BlockBytes(), 1)
	for len(p.at) < most && p.bytes < target && r.left != 0 {
		more, err := r.rows.next(ctx)
		if err != nil {
			return nil, err
		}
		if !more {
			err := r.rows.close()
			if r.rows = nil; err != nil {
				return nil, err
			}
			break
		}
		at, err := r.position()
		if err != nil {
			return nil, err
		}
		if err := p.add(at); err != nil {
			return nil, err
		}
	}
	return p.block()
}

// position names the current row.
func (r *reader) position() (uint64, error) {
	at := r.next
	if r.name.scheme == byKey || r.name.scheme == byPlace {
		k, err := r.rows.key()
		if err != nil {
			return 0, err
		}
		if at = r.name.position(k); at < r.next || at >= r.cur.End {
			return 0, &dataset.FatalError{Err: fmt.Errorf("row %d came out of turn: rows from %d to %d were due; the key %s is not unique, or its index is damaged",
				at, r.next, r.cur.End, r.rel.key.name)}
		}
	}
	r.next = at + 1
	return at, nil
}

// Close implements dataset.Reader.
func (r *reader) Close() error {
	r.ranges = nil
	var err error
	if r.rows != nil {
		err = r.rows.close()
		r.rows = nil
	}
	return errors.Join(err, r.release())
}

// piece is a block in the making.
type piece struct {
	r     *reader
	cols  []array.Builder
	at    []uint64
	bad   []uint32 // rows that failed
	bytes int64
}

func newPiece(r *reader) *piece {
	p := &piece{r: r, cols: make([]array.Builder, len(r.cols))}
	for i, c := range r.cols {
		p.cols[i] = array.NewBuilder(r.rt.Allocator(), c.typ)
	}
	return p
}

func (p *piece) release() {
	for _, c := range p.cols {
		c.Release()
	}
}

// add takes the current row. One that cannot be decoded is handed to the engine; nulls stand for it until the block is made.
func (p *piece) add(at uint64) error {
	r := p.r
	var bad error
	for i, c := range p.cols {
		if bad == nil {
			if bad = r.rows.append(i, c); bad == nil {
				continue
			}
			bad = fmt.Errorf("row %d, column %q: %w", at, r.cols[i].name, bad)
		}
		if c.Len() == len(p.at) {
			c.AppendNull()
		}
	}
	p.bytes += int64(r.rows.size())
	p.at = append(p.at, at)
	if bad == nil {
		if r.left > 0 {
			r.left--
		}
		return nil
	}
	p.bad = append(p.bad, uint32(len(p.at)-1))
	failed := dataset.FailedRow(r.cur.ID, at)
	defer failed.Release()
	return r.rt.Fail(failed, 0, bad)
}

func (p *piece) block() (*block.Block, error) {
	n := len(p.at)
	if n == len(p.bad) {
		return nil, nil
	}
	cols := make([]arrow.Array, len(p.cols))
	for i, c := range p.cols {
		cols[i] = c.NewArray()
		defer cols[i].Release()
	}
	b := block.New(block.FromColumns(p.r.schema, cols, n), block.FromRuns(runs(p.r.cur.ID, p.at)...))
	if len(p.bad) == 0 {
		return b, nil
	}
	defer b.Release()
	keep := make([]uint32, 0, n-len(p.bad))
	for i, bad := uint32(0), p.bad; int(i) < n; i++ {
		if len(bad) > 0 && bad[0] == i {
			bad = bad[1:]
			continue
		}
		keep = append(keep, i)
	}
	return block.Take(p.r.rt.Allocator(), b, keep)
}

// runs names rows at ascending positions.
func runs(id *block.File, at []uint64) (out []block.Run) {
	for len(at) > 0 {
		n, even := 1, true
		for n < len(at) && at[n]-at[0] <= math.MaxUint32 {
			even = even && at[n] == at[n-1]+1
			n++
		}
		run := block.Run{File: id, First: at[0], N: uint32(n), Stride: 1}
		if !even {
			run.Stride, run.Offsets = 0, make([]uint32, n)
			for i := range n {
				run.Offsets[i] = uint32(at[i] - at[0])
			}
		}
		out = append(out, run)
		at = at[n:]
	}
	return out
}
