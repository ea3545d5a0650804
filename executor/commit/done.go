package commit

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Interval is the half-open interval [First, End) of positions in a file.
type Interval struct{ First, End uint64 }

// wholeFile is the end of an interval that holds everything of a file.
const wholeFile = math.MaxUint64

// doneSet is the positions of one source that earlier attempts of a run have committed. Files that are done as a whole, whatever
// their sizes, are one interval where their ordinals follow each other: ten million of them take no room.
type doneSet struct {
	list   []doneSpan // sorted and disjoint once sealed
	sorted int
}

// doneSpan is the interval [first, end) in each of the files [ordinal, ordinal+files); there are several only if it is all of them.
type doneSpan struct {
	ordinal, files uint64
	first, end     uint64
}

func (a doneSpan) whole() bool { return a.first == 0 && a.end == wholeFile }

func (s *doneSet) add(n doneSpan) {
	if n.first >= n.end {
		return
	}
	if k := len(s.list); k > 0 && s.list[k-1].absorb(n) {
		return
	}
	s.list = append(s.list, n)
	if len(s.list) > 4096 && len(s.list) > 2*s.sorted {
		s.seal()
	}
}

// absorb extends a by n, which does not sort before it, if n touches or repeats it.
func (a *doneSpan) absorb(n doneSpan) bool {
	switch {
	case a.whole() && n.ordinal >= a.ordinal && n.ordinal+n.files <= a.ordinal+a.files:
		return true
	case a.whole() && n.whole() && n.ordinal >= a.ordinal && n.ordinal <= a.ordinal+a.files:
		a.files = max(a.files, n.ordinal+n.files-a.ordinal)
		return true
	case n.ordinal == a.ordinal && a.files == 1 && n.files == 1 && n.first <= a.end && n.end >= a.first:
		a.first, a.end = min(a.first, n.first), max(a.end, n.end)
		return true
	}
	return false
}

// seal sorts and joins what was added.
func (s *doneSet) seal() {
	for range 2 { // what became whole by joining may join with its neighbours
		slices.SortFunc(s.list, func(a, b doneSpan) int {
			return cmp.Or(cmp.Compare(a.ordinal, b.ordinal), cmp.Compare(a.first, b.first), cmp.Compare(b.end, a.end), cmp.Compare(b.files, a.files))
		})
		out := s.list[:0]
		for _, n := range s.list {
			if k := len(out); k == 0 || !out[k-1].absorb(n) {
				out = append(out, n)
			}
		}
		s.list = out
	}
	s.sorted = len(s.list)
}

// of appends the intervals of one file, ascending, to out. The set is sealed.
func (s *doneSet) of(ordinal uint64, out []Interval) []Interval {
	if s == nil {
		return out
	}
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].ordinal+s.list[i].files > ordinal })
	for ; i < len(s.list) && s.list[i].ordinal <= ordinal; i++ {
		out = append(out, Interval{s.list[i].first, s.list[i].end})
	}
	return out
}

// covers tells whether all of [first, end) is in the intervals.
func covers(done []Interval, first, end uint64) bool {
	for _, d := range done {
		if d.First <= first && first < d.End {
			first = d.End
		}
	}
	return first >= end
}

// firstMissing returns the first position at or behind at, below end, that is in no interval, or end.
func firstMissing(done []Interval, at, end uint64) uint64 {
	for _, d := range done {
		if d.First <= at && at < d.End {
			at = d.End
		}
	}
	return min(at, end)
}

// holds tells whether a position is in the intervals, which ascend.
func holds(done []Interval, pos uint64) bool {
	i := sort.Search(len(done), func(i int) bool { return done[i].End > pos })
	return i < len(done) && done[i].First <= pos
}

// touches tells whether any position of [first, last] is in the intervals.
func touches(done []Interval, first, last uint64) bool {
	i := sort.Search(len(done), func(i int) bool { return done[i].End > first })
	return i < len(done) && done[i].First <= last
}

// missing calls f with the parts of [first, end) that are in no interval.
func missing(done []Interval, first, end uint64, f func(first, end uint64)) {
	for _, d := range done {
		if first >= end || d.First >= end {
			break
		}
		if d.First > first {
			f(first, d.First)
		}
		first = max(first, d.End)
	}
	if first < end {
		f(first, end)
	}
}

// intersect returns what is in both lists.
func intersect(a, b []Interval) []Interval {
	var out []Interval
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if lo, hi := max(a[i].First, b[j].First), min(a[i].End, b[j].End); lo < hi {
			out = append(out, Interval{lo, hi})
		}
		if a[i].End < b[j].End {
			i++
		} else {
			j++
		}
	}
	return out
}

// covers tells whether the set holds [first, end) of a file. The set is sealed.
func (s *doneSet) covers(ordinal, first, end uint64) bool {
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].ordinal+s.list[i].files > ordinal })
	for ; i < len(s.list) && s.list[i].ordinal <= ordinal; i++ {
		if d := &s.list[i]; d.first <= first && first < d.end {
			first = d.end
		}
	}
	return first >= end
}

// holdsFiles tells whether the set holds all of the files from first to last. The set is sealed.
func (s *doneSet) holdsFiles(first, last uint64) bool {
	i := sort.Search(len(s.list), func(i int) bool { return s.list[i].ordinal+s.list[i].files > first })
	return i < len(s.list) && s.list[i].whole() && s.list[i].ordinal <= first && last < s.list[i].ordinal+s.list[i].files
}
