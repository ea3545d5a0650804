package sql

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// span is a range of texts in the order of the database: lo inclusive, hi exclusive, either "" where it is open.
type span struct{ lo, hi string }

// maxQuantiles bounds how many values divide a column of texts.
const maxQuantiles = 1000

// quantiles is how many values are to divide a column of texts.
func (b bounds) quantiles(target int64) uint64 { return min(b.parts(target)-1, maxQuantiles) }

// rangesByText makes a path of each range between the values that the database gave. The first and the last range are open, so that every
// value lies in one.
func rangesByText(n naming, b bounds, after dataset.Cursor) ([]keyRange, error) {
	var out []keyRange
	lo := ""
	for i, hi := range append(b.texts, "") {
		if hi != lo || i == len(b.texts) { // values that many rows have come several times
			out = append(out, keyRange{n.path + (span{lo, hi}).String(), 0, uncounted})
		}
		lo = hi
	}
	return behind(out, n, b, after)
}

// String writes the range for a path.
func (s span) String() string { return escapeText(s.lo) + ".." + escapeText(s.hi) }

func escapeText(s string) string { return strings.ReplaceAll(url.QueryEscape(s), ".", "%2E") }

// parseSpan reads what String wrote; nulls is set for the rows without a key.
func parseSpan(text string) (s span, nulls bool, err error) {
	if text == nullRange {
		return s, true, nil
	}
	lo, hi, ok := strings.Cut(text, "..")
	if ok {
		if s.lo, err = url.QueryUnescape(lo); err == nil {
			s.hi, err = url.QueryUnescape(hi)
		}
	}
	if !ok || err != nil {
		return s, false, fmt.Errorf("the range %q of a split is damaged", text)
	}
	return s, false, nil
}
