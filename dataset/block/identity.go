package block

import (
	"slices"
	"sort"
)

// Run is a stretch of rows of one file. Row i of the run is at position First + i*Stride, or First + Offsets[i] where Offsets is
// set (lines, whose byte offsets are uneven).
type Run struct {
	File    *File
	Token   *Token // nil outside a run of the engine
	First   uint64
	N       uint32
	Stride  uint32
	Offsets []uint32
}

func (r *Run) at(i uint32) uint64 {
	if r.Offsets != nil {
		return r.First + uint64(r.Offsets[i])
	}
	return r.First + uint64(i)*uint64(r.Stride)
}

// RowID names one row for good: where it was read, and for rows made by flat maps the ordinal among its parent's children, one
// number a flat map, outermost first.
type RowID struct {
	File     *File
	Position uint64
	Child    []uint32
}

// Identity says for each row of a block where it came from. It is immutable. The zero value has no rows.
type Identity struct {
	*base
	index []uint32 // rows of base; nil means the window [off, off+n)
	off   uint32
	n     uint32
}

// base is shared by every identity that was sliced or taken from it.
type base struct {
	runs   []Run
	starts []uint32 // first row of each run
	rows   uint32

	parent  *Identity // for flat maps: runs is empty, row i is a child of row parents[i] of parent
	parents []uint32
}

// FromRuns makes the identity of rows as a reader emits them.
func FromRuns(runs ...Run) Identity {
	b := &base{runs: runs, starts: make([]uint32, len(runs))}
	for i := range runs {
		b.starts[i] = b.rows
		b.rows += runs[i].N
	}
	return Identity{base: b, n: b.rows}
}

// Len returns the number of rows.
func (id Identity) Len() int {
	if id.index != nil {
		return len(id.index)
	}
	return int(id.n)
}

func (id Identity) row(i int) uint32 {
	if id.index != nil {
		return id.index[i]
	}
	return id.off + uint32(i)
}

// Slice returns the identity of rows [off, off+n).
func (id Identity) Slice(off, n int) Identity {
	if id.base == nil {
		return id
	}
	if id.index != nil {
		return Identity{base: id.base, index: id.index[off : off+n : off+n]}
	}
	return Identity{base: id.base, off: id.off + uint32(off), n: uint32(n)}
}

// Take returns the identity of the rows at indices. It keeps indices where it can.
func (id Identity) Take(indices []uint32) Identity {
	if id.base == nil {
		return id
	}
	if len(indices) == 0 {
		return Identity{base: id.base, off: id.off}
	}
	if id.index == nil && id.off == 0 {
		return Identity{base: id.base, index: indices}
	}
	out := make([]uint32, len(indices))
	for i, x := range indices {
		out[i] = id.row(int(x))
	}
	return Identity{base: id.base, index: out}
}

// FlatMap returns the identity of children: row i is a child of row parents[i] of id. Parents must ascend.
func (id Identity) FlatMap(parents []uint32) Identity {
	if id.base == nil {
		return id
	}
	return Identity{base: &base{parent: &id, parents: parents, rows: uint32(len(parents))}, n: uint32(len(parents))}
}

// Concat returns the identity of all rows of ids, in order. Runs are concatenated; row indices are rebased.
func Concat(ids ...Identity) Identity {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id Identity) bool { return id.Len() == 0 })
	switch len(ids) {
	case 0:
		return Identity{}
	case 1:
		return ids[0]
	}
	for _, id := range ids {
		if id.parent != nil {
			return concatNested(ids)
		}
	}
	return concatFlat(ids)
}

// concatFlat joins identities that consist of runs only.
func concatFlat(ids []Identity) Identity {
	var runs []Run
	var index []uint32
	total, plain := uint32(0), true
	for _, id := range ids {
		if id.index != nil || id.off != 0 || id.n != id.rows {
			plain = false
		}
	}
	for _, id := range ids {
		if !plain {
			for i := range id.Len() {
				index = append(index, total+id.row(i))
			}
		}
		runs = append(runs, id.runs...)
		total += id.rows
	}
	out := FromRuns(runs...)
	if !plain {
		out.index, out.n = index, 0
	}
	return out
}

// concatNested joins identities of which some are children: their parents are joined, and the levels above rebased. Identities of
// unequal depth (a union of a flat map with its own input) first get an identity level whose only child is the row itself.
func concatNested(ids []Identity) Identity {
	deepest := 0
	for _, id := range ids {
		deepest = max(deepest, id.depth())
	}
	parentIDs := make([]Identity, len(ids))
	var parents, index []uint32
	shift, rows := uint32(0), uint32(0)
	for k, id := range ids {
		for id.depth() < deepest {
			each := make([]uint32, id.Len())
			for i := range each {
				each[i] = uint32(i)
			}
			id = id.FlatMap(each)
		}
		parentIDs[k] = *id.parent
		for _, p := range id.parents {
			parents = append(parents, p+shift)
		}
		for i := range id.Len() {
			index = append(index, rows+id.row(i))
		}
		shift += uint32(id.parent.Len())
		rows += id.rows
	}
	joined := Concat(parentIDs...)
	return Identity{base: &base{parent: &joined, parents: parents, rows: rows}, index: index}
}

func (id Identity) depth() int {
	d := 0
	for b := id.base; b != nil && b.parent != nil; b = b.parent.base {
		d++
	}
	return d
}

// At returns the name of row i.
func (id Identity) At(i int) RowID {
	r := id.row(i)
	if id.parent == nil {
		k := id.runOf(r)
		run := &id.runs[k]
		return RowID{File: run.File, Position: run.at(r - id.starts[k])}
	}
	p := id.parents[r]
	first := sort.Search(int(r), func(j int) bool { return id.parents[j] >= p })
	out := id.parent.At(int(p))
	out.Child = append(out.Child, r-uint32(first))
	return out
}

// Origin returns the file and position that row i is rooted in, and its token: At without the ordinals of children.
func (id Identity) Origin(i int) (file *File, position uint64, token *Token) {
	r, b := id.row(i), id.base
	for b.parent != nil {
		r, b = b.parent.row(int(b.parents[r])), b.parent.base
	}
	k := b.runOf(r)
	run := &b.runs[k]
	return run.File, run.at(r - b.starts[k]), run.Token
}

// Runs calls f with the runs that the identity is built on, the roots of all its rows.
func (id Identity) Runs(f func(*Run)) {
	b := id.base
	for b != nil && b.parent != nil {
		b = b.parent.base
	}
	if b == nil {
		return
	}
	for i := range b.runs {
		f(&b.runs[i])
	}
}

// WithToken returns the identity with every run bound to t. It is called once, where a reader's block enters the engine.
func (id Identity) WithToken(t *Token) Identity {
	if id.base == nil {
		return id
	}
	nb := *id.base
	if nb.parent != nil {
		p := nb.parent.WithToken(t)
		nb.parent = &p
	} else {
		nb.runs = slices.Clone(nb.runs)
		for i := range nb.runs {
			nb.runs[i].Token = t
		}
	}
	id.base = &nb
	return id
}

func (b *base) runOf(r uint32) int {
	if len(b.runs) == 1 {
		return 0
	}
	return sort.Search(len(b.starts), func(k int) bool { return b.starts[k] > r }) - 1
}

// rootRun returns the run in which row r of the base is rooted.
func (b *base) rootRun(r uint32) *Run {
	for b.parent != nil {
		r = b.parent.row(int(b.parents[r]))
		b = b.parent.base
	}
	return &b.runs[b.runOf(r)]
}

// countTokens appends the number of rows per token to out.
func (id Identity) countTokens(out []tokenCount) []tokenCount {
	n := id.Len()
	if n == 0 || id.base == nil {
		return out
	}
	root := id.base
	for root.parent != nil {
		root = root.parent.base
	}
	if len(root.runs) == 0 {
		return out
	}
	one := root.runs[0].Token
	for i := 1; i < len(root.runs); i++ {
		if root.runs[i].Token != one {
			return id.countTokensSlow(out, n)
		}
	}
	if one == nil {
		return out
	}
	return append(out, tokenCount{one, int64(n)})
}

func (id Identity) countTokensSlow(out []tokenCount, n int) []tokenCount {
	last := -1
	for i := range n {
		t := id.rootRun(id.row(i)).Token
		if t == nil {
			continue
		}
		if last < 0 || out[last].token != t {
			last = slices.IndexFunc(out, func(c tokenCount) bool { return c.token == t })
			if last < 0 {
				out = append(out, tokenCount{token: t})
				last = len(out) - 1
			}
		}
		out[last].rows++
	}
	return out
}
