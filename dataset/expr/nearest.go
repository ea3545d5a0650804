package expr

import "strings"

// nearest returns the name that name was probably meant to be, or "".
func nearest(name string, names []string) string {
	best, score := "", min(len(name)/3, 3)+1 // how many typing errors to forgive
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n
		}
		if d := distance(strings.ToLower(name), strings.ToLower(n), score); d < score {
			best, score = n, d
		}
	}
	return best
}

// distance counts insertions, deletions, replacements and swaps of neighbours between a and b, up to limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var before []int
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev = prev, cur
	}
	return prev[len(b)]
}
