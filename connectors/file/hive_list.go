package file

import (
	"context"
	"slices"

	"github.com/sluice-data/sluice/dataset/expr"
)

// Folders named key=value whose value a filter excludes are not listed at all. The filter is known to the source of partitions, the
// listing is the affair of the source of files within, whose kind does not matter: so the context of the listing carries it.

type leaveKey struct{}

// leaving returns a context whose listings leave out the folders that leave is true of.
func leaving(ctx context.Context, leave func(dir string) bool) context.Context {
	return context.WithValue(ctx, leaveKey{}, leave)
}

// withLeave is the matcher of a listing under a context; left tells, in the end, whether a folder was left out.
func withLeave(ctx context.Context, m *Matcher) (out *Matcher, left *bool) {
	left = new(bool)
	leave, ok := ctx.Value(leaveKey{}).(func(string) bool)
	if !ok {
		return m, left
	}
	with := *m
	with.leave = func(dir string) bool {
		if !leave(dir) {
			return false
		}
		*left = true
		return true
	}
	return &with, left
}

// excludes tells whether no file below a folder can have a row that satisfies the predicate, by the values in the folder's path. Values
// that cannot be read exclude nothing: what is wrong with them is said when the files are opened.
func (s *hiveSource) excludes(fields []hiveField, dir string) bool {
	pairs := hivePairs(dir + "/")
	if len(pairs) == 0 {
		return false
	}
	return !s.predicate.MayMatch(func(column string) (expr.ColumnStats, bool) {
		i := slices.IndexFunc(fields, func(f hiveField) bool { return f.name == column })
		k := slices.IndexFunc(pairs, func(p hivePair) bool { return p.key == column })
		if i < 0 || k < 0 {
			return expr.ColumnStats{}, false
		}
		if pairs[k].value == hiveNull {
			return expr.ColumnStats{NullCount: 1, Rows: 1}, true
		}
		v, err := hiveParsers[fields[i].typ.ID()](pairs[k].value)
		if err != nil {
			return expr.ColumnStats{}, false
		}
		return expr.ColumnStats{Min: v, Max: v, Rows: 1}, true
	})
}
