package sql

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// maxSplits bounds how finely a relation is divided.
const maxSplits = 10_000

// Suffixes of the paths of splits, which say what positions mean. A path without one: the key itself, which is not negative.
const (
	signedMark = "#signed" // the key plus 1<<63
	placeMark  = "#place"  // page and number in it
	rangeMark  = "#by="    // counted within a range of the column; each range is a path of its own
	textMark   = "#text="  // the same, of a range of texts
	countMark  = "#rows"   // counted
	nullRange  = "null"
	versionTag = "@" // of the state of the database that positions hold in
)

// uncounted is the end of a split whose rows nobody has counted.
const uncounted = math.MaxInt64

// keyRange is a split: what it is called and where it lies.
type keyRange struct {
	path       string
	start, end uint64
}

// naming turns keys into positions and back.
type naming struct {
	scheme scheme
	signed bool // byKey: keys may be negative
	nulls  bool // byRange, byText: the rows without a key
	text   span // byText
	path   string
}

// namingOf decides how the rows of a state of a relation are named.
func namingOf(k key, b bounds, shown, version string) naming {
	tag := ""
	if version != "" {
		tag = versionTag + version
	}
	s := k.scheme
	if s == byKey && b.any && b.hi == math.MaxInt64 { // no position lies behind the last
		s = byRange
	}
	switch s {
	case byKey:
		if b.any && b.lo < 0 {
			return naming{scheme: byKey, signed: true, path: shown + signedMark}
		}
		return naming{scheme: byKey, path: shown}
	case byPlace:
		return naming{scheme: byPlace, path: shown + placeMark + tag}
	case byRange:
		return naming{scheme: byRange, path: shown + tag + rangeMark}
	case byText:
		return naming{scheme: byText, path: shown + tag + textMark}
	}
	return naming{scheme: byCount, path: shown + countMark + tag}
}

func (n naming) position(key int64) uint64 {
	if n.signed {
		return uint64(key) ^ 1<<63
	}
	return uint64(key)
}

func (n naming) key(position uint64) int64 {
	if n.signed {
		return int64(position ^ 1<<63)
	}
	return int64(min(position, math.MaxInt64))
}

// divide makes the splits behind a cursor.
func divide(k key, b bounds, shown, version string, target int64, after dataset.Cursor) ([]keyRange, error) {
	n := namingOf(k, b, shown, version)
	if n.scheme == byCount {
		switch after.Path {
		case "":
			return []keyRange{{n.path, 0, uncounted}}, nil
		case n.path:
			return nil, nil
		}
		return nil, goneState(after.Path)
	}
	if n.scheme == byText {
		return rangesByText(n, b, after)
	}
	cuts := b.divide(target)
	if n.scheme == byRange {
		return rangesBy(n, b, cuts, after)
	}
	from := b.lo
	switch {
	case after.Path == "":
	case after.Path == n.path:
		from = max(from, n.key(after.End))
	case n.scheme == byKey && after.Path == shown: // negative keys came since
		from = max(from, int64(min(after.End, math.MaxInt64)))
	case n.scheme == byKey && after.Path == shown+signedMark: // negative keys went since
		from = max(from, naming{signed: true}.key(after.End))
	default:
		return nil, goneState(after.Path)
	}
	var out []keyRange
	for i := range cuts {
		lo, hi := max(cuts[i], from), b.hi+1
		if i+1 < len(cuts) {
			hi = cuts[i+1]
		}
		if b.any && lo < hi {
			out = append(out, keyRange{n.path, n.position(lo), n.position(hi)})
		}
	}
	return out, nil
}

// rangesBy makes a path of each range.
func rangesBy(n naming, b bounds, cuts []int64, after dataset.Cursor) ([]keyRange, error) {
	var out []keyRange
	for i, lo := range cuts {
		hi := b.hi
		if i+1 < len(cuts) {
			hi = cuts[i+1] - 1
		}
		if b.any && lo <= hi {
			out = append(out, keyRange{fmt.Sprintf("%s%d..%d", n.path, lo, hi), 0, uncounted})
		}
	}
	return behind(out, n, b, after)
}

// behind adds the range of the rows without a key and gives those behind the cursor.
func behind(out []keyRange, n naming, b bounds, after dataset.Cursor) ([]keyRange, error) {
	if b.nulls {
		out = append(out, keyRange{n.path + nullRange, 0, uncounted})
	}
	if after.Path == "" {
		return out, nil
	}
	i := slices.IndexFunc(out, func(r keyRange) bool { return r.path == after.Path })
	if i < 0 {
		return nil, goneState(after.Path)
	}
	return out[i+1:], nil
}

// parseRange reads the range behind the mark of a path; nulls is set for the rows without a key.
func parseRange(text string) (lo, hi int64, nulls bool, err error) {
	if text == nullRange {
		return 0, 0, true, nil
	}
	a, z, ok := strings.Cut(text, "..")
	if ok {
		if lo, err = strconv.ParseInt(a, 10, 64); err == nil {
			hi, err = strconv.ParseInt(z, 10, 64)
		}
	}
	if !ok || err != nil {
		return 0, 0, false, fmt.Errorf("the range %q of a split is damaged", text)
	}
	return lo, hi, false, nil
}

// goneState is the error of rows that cannot be told apart any more.
func goneState(path string) error {
	return &dataset.FatalError{Err: fmt.Errorf("the state of the database that %s was read in is gone (the run was interrupted, or the server was restarted), and nothing else names its rows; begin anew with --overwrite, or give by= a column of unique whole numbers, which survives that", path)}
}

// parts is how many ranges of about target bytes there are.
func (b bounds) parts(target int64) uint64 {
	return uint64(min(max(b.bytes/max(target, 1), 1), maxSplits))
}

// divide gives the smallest key of each range of about target bytes, the first being the smallest of all.
func (b bounds) divide(target int64) []int64 {
	if !b.any {
		return nil
	}
	n := b.parts(target)
	span := uint64(b.hi) - uint64(b.lo) // up to MaxUint64
	if span < n {
		n = span + 1
	}
	out := []int64{b.lo}
	if len(b.cuts) > 0 { // measured: each lies at an equal share of the rows
		for i := uint64(1); i < n; i++ {
			c := b.cuts[min(i*uint64(len(b.cuts))/n, uint64(len(b.cuts)-1))]
			if c > out[len(out)-1] && c <= b.hi {
				out = append(out, c)
			}
		}
		return out
	}
	for i := uint64(1); i < n; i++ {
		hi, lo := bits.Mul64(span, i)
		step, _ := bits.Div64(hi, lo, n) // hi < n, because i < n
		if c := b.lo + int64(step); c > out[len(out)-1] {
			out = append(out, c)
		}
	}
	return out
}
