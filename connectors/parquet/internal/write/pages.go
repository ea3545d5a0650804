package write

import (
	"bytes"

	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// pages notes where the pages of a chunk lie and what is in them: its page index.
type pages struct {
	bounds buffer // of each page the minimum, then the maximum
	list   []page
	// untold says that a page has values and no bounds: NaN alone, or bytes whose maximum cannot be cut. The index has no form for that, so the
	// chunk gets none.
	untold bool
}

// page is one page of a chunk.
type page struct {
	at, size int   // in the chunk, with its header
	row      int64 // the first one
	nulls    int64
	lo, hi   uint8 // length of the bounds
	empty    bool  // it has only nulls
}

func (p *pages) reset() { p.bounds.n, p.list, p.untold = 0, p.list[:0], false }

func (p *pages) held() int64 { return int64(cap(p.list)) * 56 }

// notePage notes the page that has just been written to the chunk, from at on, and adds its bounds to those of the chunk.
func (l *Leaf) notePage(at int) {
	p := page{at: at, size: l.chunk.n - at, row: l.rows, nulls: int64(l.nulls), empty: l.nulls == l.levels}
	if e := l.bounds.ends(); e.ok {
		p.lo, p.hi = uint8(len(e.lo)), uint8(len(e.hi))
		l.pages.bounds.append(e.lo)
		l.pages.bounds.append(e.hi)
	} else if !p.empty {
		l.pages.untold = true
	}
	l.pages.list = append(l.pages.list, p)
	l.total.merge(&l.bounds)
	if l.col.MaxRep == 0 {
		l.rows += int64(l.levels)
	} else {
		l.rows += int64(bytes.Count(l.reps, []byte{0}))
	}
}

// boundIndexes finds the bounds of a page of indexes among the values that it has.
func (l *Leaf) boundIndexes() {
	if l.bounds.order != orderBytes {
		return
	}
	for x, used := range l.dict.used(l.idx) {
		if !used {
			continue
		}
		if v := l.dict.value(uint32(x)); !l.bounds.inside(v) {
			l.bounds.bytes(v)
		}
	}
}

// encode encodes the index of a chunk whose first page lies at base in the file.
func (p *pages) encode(base int64, o order, statistics bool) (meta.Index, error) {
	offsets := &format.OffsetIndex{PageLocations: make([]format.PageLocation, len(p.list))}
	for i, x := range p.list {
		offsets.PageLocations[i] = format.PageLocation{Offset: base + int64(x.at), CompressedPageSize: int32(x.size), FirstRowIndex: x.row}
	}
	if !statistics || p.untold {
		return meta.EncodeIndex(nil, offsets)
	}
	columns := &format.ColumnIndex{BoundaryOrder: p.direction(o)}
	for x, b := range p.each() {
		columns.NullPages = append(columns.NullPages, x.empty)
		columns.NullCounts = append(columns.NullCounts, x.nulls)
		columns.MinValues = append(columns.MinValues, b[:x.lo])
		columns.MaxValues = append(columns.MaxValues, b[x.lo:])
	}
	return meta.EncodeIndex(columns, offsets)
}

// each gives the pages with their bounds, one behind the other.
func (p *pages) each() func(yield func(*page, []byte) bool) {
	return func(yield func(*page, []byte) bool) {
		b := p.bounds.bytes()
		for i := range p.list {
			x := &p.list[i]
			n := int(x.lo) + int(x.hi)
			if !yield(x, b[:n:n]) {
				return
			}
			b = b[n:]
		}
	}
}

// direction tells whether both bounds of the pages only rise or only fall, pages of nulls aside.
func (p *pages) direction(o order) format.BoundaryOrder {
	up, down, first := true, true, true
	var lo, hi []byte
	for x, b := range p.each() {
		if x.empty {
			continue
		}
		if !first {
			a, c := o.compare(lo, b[:x.lo]), o.compare(hi, b[x.lo:])
			up, down = up && a <= 0 && c <= 0, down && a >= 0 && c >= 0
		}
		lo, hi, first = b[:x.lo], b[x.lo:], false
	}
	switch {
	case up:
		return format.Ascending
	case down:
		return format.Descending
	}
	return format.Unordered
}
