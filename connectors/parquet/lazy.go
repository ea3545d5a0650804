package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/connectors/parquet/internal/read"
	"github.com/sluice-data/sluice/dataset/block"
)

// Late materialisation: of a row group under a filter, the filter's columns are read first, and the pages of the others are decoded only
// where rows are left. The filter stays in the plan, so what is given out may be more than the rows that match, never less.

const (
	// mergeGap is the least stretch of rows that is worth being passed over in the other columns; mergeGapNested where one of these is
	// nested: there each stretch is a batch of its own.
	mergeGap       = 64
	mergeGapNested = 8192
	// askedRows and tooMany end the asking: where that part (in percent) of so many rows is kept, decoding is cheaper than asking.
	askedRows = 64 << 10
	tooMany   = 50
	// mostRows is the part (in percent) of a batch from which on its rows are given out without a gap: copying them costs more than the
	// others' decoding.
	mostRows = 75
)

// lazyGroup reads some rows of one row group under a filter.
type lazyGroup struct {
	first, rest *Reader // the filter's columns, the others; rest is nil if there are none
	gap         int
	// matches gives the ascending rows of a batch of the filter's columns that may match; all: every one.
	matches func(rec arrow.RecordBatch) (rows []uint32, all bool, err error)

	todo   []rowRange        // rows of the group that first has yet to read
	restAt int64             // row of the group that rest stands at
	head   arrow.RecordBatch // rows of the filter's columns, of which given were given out
	given  int64
	runs   []rowRange // the rows of the group that head is, from given on

	asked, kept int64 // rows that the filter was asked about, and of those that may match
	read        int64 // rows of the filter's columns
}

// newLazyGroup opens a group for the given rows of it.
func newLazyGroup(f *File, g int, opts ReadOptions, filter []string, rows []rowRange) (*lazyGroup, error) {
	var others []string
	gap := mergeGap
	for _, c := range opts.Columns {
		if !slices.Contains(filter, c) {
			others = append(others, c)
			if f.leafField(c) == nil {
				gap = mergeGapNested
			}
		}
	}
	opts.pushed = true
	out := &lazyGroup{gap: gap, todo: rows}
	opts.Columns = filter
	var err error
	if out.first, err = f.Read(g, opts); err != nil {
		return nil, err
	}
	if len(others) > 0 {
		opts.Columns = others
		if out.rest, err = f.Read(g, opts); err != nil {
			return nil, errors.Join(err, out.close())
		}
	}
	at := int64(0)
	for _, r := range rows {
		out.first.push(read.Span{Skip: r.from - at, Take: r.to - r.from})
		at = r.to
	}
	return out, nil
}

// next returns a batch and which rows of the group it has.
func (l *lazyGroup) next() (arrow.RecordBatch, []rowRange, error) {
	for l.head == nil || l.given == l.head.NumRows() {
		if err := l.advance(); err != nil {
			return nil, nil, err
		}
	}
	if l.rest == nil {
		b := l.head
		l.head = nil
		return b, l.cut(b.NumRows()), nil
	}
	rest, err := l.rest.Next()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, nil, err
	}
	defer rest.Release()
	n := rest.NumRows()
	head := l.head.NewSlice(l.given, l.given+n)
	defer head.Release()
	l.given += n
	fields := slices.Concat(head.Schema().Fields(), rest.Schema().Fields())
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), slices.Concat(head.Columns(), rest.Columns()), n), l.cut(n), nil
}

// cut takes n rows off the front of runs.
func (l *lazyGroup) cut(n int64) (out []rowRange) { out, l.runs = cutRanges(l.runs, n); return out }

// cutRanges divides ranges behind n rows.
func cutRanges(ranges []rowRange, n int64) (front, back []rowRange) {
	for i, r := range ranges {
		if k := r.to - r.from; k <= n {
			front, n = append(front, r), n-k
			continue
		}
		if n > 0 {
			front = append(front, rowRange{r.from, r.from + n})
		}
		back = append([]rowRange{{r.from + n, r.to}}, ranges[i+1:]...)
		break
	}
	return front, back
}

// advance reads filter columns until there are rows that may match.
func (l *lazyGroup) advance() error {
	if l.head != nil {
		l.head.Release()
		l.head = nil
	}
	rec, err := l.first.Next()
	if err != nil {
		return err
	}
	l.read += rec.NumRows()
	var at []rowRange
	at, l.todo = cutRanges(l.todo, rec.NumRows())
	wanted := []rowRange{{0, rec.NumRows()}}
	if l.asked < askedRows || l.kept*100 < l.asked*tooMany {
		rows, all, err := l.matches(rec)
		if err != nil {
			rec.Release()
			return err
		}
		l.asked += rec.NumRows()
		if all {
			l.kept += rec.NumRows()
		} else {
			l.kept += int64(len(rows))
			wanted = whole(stretches(rows, l.gap), rec.NumRows())
		}
	}
	if len(wanted) == 0 {
		rec.Release()
		return nil
	}
	if l.head, err = pick(l.first, rec, wanted); err != nil {
		return err
	}
	l.given, l.runs = 0, nil
	for _, r := range within(at, wanted) {
		l.runs = append(l.runs, r)
		if l.rest != nil {
			l.rest.push(read.Span{Skip: r.from - l.restAt, Take: r.to - r.from})
			l.restAt = r.to
		}
	}
	return nil
}

// stretches joins rows that lie closer together than gap.
func stretches(rows []uint32, gap int) (out []rowRange) {
	for _, x := range rows {
		if n := len(out); n > 0 && int64(x)-out[n-1].to < int64(gap) {
			out[n-1].to = int64(x) + 1
		} else {
			out = append(out, rowRange{int64(x), int64(x) + 1})
		}
	}
	return out
}

// whole makes ranges that are most of n rows one.
func whole(ranges []rowRange, n int64) []rowRange {
	if covered := rangeRows(ranges); len(ranges) > 1 && covered*100 >= n*mostRows {
		return []rowRange{{ranges[0].from, ranges[len(ranges)-1].to}}
	}
	return ranges
}

func rangeRows(ranges []rowRange) (n int64) {
	for _, r := range ranges {
		n += r.to - r.from
	}
	return n
}

// within translates ascending ranges of a batch to those of the group, where the batch has the rows at.
func within(at, ranges []rowRange) (out []rowRange) {
	base := int64(0) // row of the batch that at[0] begins with
	for _, r := range ranges {
		for r.from < r.to {
			for n := at[0].to - at[0].from; base+n <= r.from; n = at[0].to - at[0].from {
				base, at = base+n, at[1:]
			}
			to := min(r.to, base+at[0].to-at[0].from)
			out = append(out, rowRange{at[0].from + r.from - base, at[0].from + to - base})
			r.from = to
		}
	}
	return out
}

// pick makes a batch of some rows; it consumes rec.
func pick(r *Reader, rec arrow.RecordBatch, ranges []rowRange) (arrow.RecordBatch, error) {
	if len(ranges) == 1 {
		if ranges[0].from == 0 && ranges[0].to == rec.NumRows() {
			return rec, nil
		}
		defer rec.Release()
		return rec.NewSlice(ranges[0].from, ranges[0].to), nil
	}
	defer rec.Release()
	rows := make([]uint32, 0, rangeRows(ranges))
	for _, x := range ranges {
		for i := x.from; i < x.to; i++ {
			rows = append(rows, uint32(i))
		}
	}
	out, err := block.TakeRecord(r.opts.Allocator, rec, rows)
	if err != nil {
		return nil, fmt.Errorf("read parquet: row group %d: %w", r.group, err)
	}
	return out, nil
}

func (l *lazyGroup) close() error {
	if l.head != nil {
		l.head.Release()
		l.head = nil
	}
	err := l.first.Close()
	if l.rest != nil {
		err = errors.Join(err, l.rest.Close())
	}
	return err
}
