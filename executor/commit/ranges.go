package commit

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// span is the interval [first, end) of positions in each of the files [ordinal, ordinal+files) of a source.
type span struct {
	source     uint32
	ordinal    uint64
	files      uint64
	first, end uint64
}

// spans is a set of ranges of input. Ranges that follow each other become one, so a folder of whole files takes one span and a file
// read from start to end too.
type spans struct {
	list   []span
	sorted int // length after the last compaction
}

// maxSpans closes a generation: its record stays well below the limit.
const maxSpans = 1 << 20

func (s *spans) add(n span) {
	if n.first >= n.end {
		return
	}
	if k := len(s.list); k > 0 && s.list[k-1].absorb(n) {
		return
	}
	s.list = append(s.list, n)
	if len(s.list) > 4096 && len(s.list) > 2*s.sorted {
		s.compact()
	}
}

// absorb extends a by n if n continues it.
func (a *span) absorb(n span) bool {
	if a.source != n.source {
		return false
	}
	switch {
	case n.ordinal == a.ordinal && n.files == a.files && n.first <= a.end && n.end >= a.first:
		a.first, a.end = min(a.first, n.first), max(a.end, n.end)
	case n.ordinal == a.ordinal+a.files && n.first == a.first && n.end == a.end:
		a.files += n.files
	default:
		return false
	}
	return true
}

// compact sorts and joins: first what touches within a file, then whole runs of files.
func (s *spans) compact() {
	for range 2 {
		slices.SortFunc(s.list, func(a, b span) int {
			return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.ordinal, b.ordinal), cmp.Compare(a.first, b.first))
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

// encode appends the compacted set to b.
func (s *spans) encode(b []byte) []byte {
	s.compact()
	b = binary.AppendUvarint(b, uint64(len(s.list)))
	var prev span
	for _, n := range s.list {
		b = binary.AppendUvarint(b, uint64(n.source))
		b = binary.AppendVarint(b, int64(n.ordinal-prev.ordinal))
		b = binary.AppendUvarint(b, n.files)
		b = binary.AppendUvarint(b, n.first)
		b = binary.AppendUvarint(b, n.end-n.first)
		prev = n
	}
	return b
}

func decodeSpans(p []byte) ([]span, error) {
	d := &decoder{p: p}
	n := d.uvarint()
	if n > uint64(len(d.p))/5 {
		return nil, errors.New("a record of ranges ends early")
	}
	out := make([]span, 0, n)
	var prev span
	for ; n > 0 && d.err == nil; n-- {
		prev.source = uint32(d.uvarint())
		prev.ordinal += uint64(d.varint())
		prev.files = d.uvarint()
		prev.first = d.uvarint()
		prev.end = prev.first + d.uvarint()
		out = append(out, prev)
	}
	if d.err == nil && len(d.p) > 0 {
		return nil, errors.New("a record of ranges has bytes behind its end")
	}
	return out, d.err
}
