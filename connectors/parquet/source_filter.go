package parquet

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/expr"
)

// skipped counts what a filter saved a source, for people to see.
type skipped struct {
	groups, byStats, byBloom atomic.Int64 // row groups: seen, and left out by their statistics and Bloom filters
	ranges, byPages          atomic.Int64 // stretches between the ends of pages: seen, and left out by the page index
	rows, late               atomic.Int64 // rows whose filter columns were read, and those whose other columns were read as well
}

// Skipped implements dataset.Skipper.
func (s *Source) Skipped() string {
	k := &s.pin.skipped
	groups, stats, bloom := k.groups.Load(), k.byStats.Load(), k.byBloom.Load()
	pages, rows, late := k.byPages.Load(), k.rows.Load(), k.late.Load()
	var out []string
	if stats+bloom > 0 {
		out = append(out, fmt.Sprintf("%d of %d row groups passed over (statistics %d, Bloom filters %d)", stats+bloom, groups, stats, bloom))
	}
	if pages > 0 {
		out = append(out, fmt.Sprintf("%d of %d ranges of pages passed over by the page index", pages, k.ranges.Load()))
	}
	if late < rows*9/10 {
		out = append(out, fmt.Sprintf("other columns decoded for %d of %d rows", late, rows))
	}
	return strings.Join(out, "; ")
}

// filterOf is the part of the predicate that can be asked of the columns that a file has, compiled for them; nil if there is none, or if
// asking could fail on a row: the filter behind the source must see that row.
func (r *sourceReader) filterOf() (prog *expr.Program, schema *arrow.Schema) {
	p := r.src.predicate
	if p == nil || p.Fallible() {
		return nil, nil
	}
	var use *expr.Expr
	for _, c := range p.Conjuncts() {
		if cols := c.Columns(); len(cols) == 0 || slices.ContainsFunc(cols, func(n string) bool { return !slices.Contains(r.have, n) }) {
			continue
		}
		if use == nil {
			use = c
		} else {
			use = expr.And(use, c)
		}
	}
	if use == nil {
		return nil, nil
	}
	cols := use.Columns()
	var fields []arrow.Field
	for _, f := range r.schema.Fields() {
		if slices.Contains(cols, f.Name) {
			fields = append(fields, f)
		}
	}
	schema = arrow.NewSchema(fields, nil)
	prog, err := expr.Compile(use, schema)
	if err != nil { // the filter behind the source says what is wrong with it
		return nil, nil
	}
	return prog, schema
}

// openLazy opens row group g, rows [from, to) of it, under the predicate. ok is false where it is to be read as a whole; a group that has
// no row left is passed over.
func (r *sourceReader) openLazy(g int, opts ReadOptions) (lazy *lazyGroup, ok bool, err error) {
	p, k := r.src.predicate, &r.src.pin.skipped
	if p == nil {
		return nil, false, nil
	}
	odd := func(msg string) { r.rt.Warn("odd Parquet file", r.cur.File.Path+": "+msg) }
	if r.file.bloomExcludes(g, p, odd) {
		k.byBloom.Add(1)
		return nil, true, nil
	}
	idx, err := r.file.fieldIndexes(opts.Columns)
	if err != nil || opts.MaxBytes > 0 && r.file.readMemory(g, idx) > opts.MaxBytes || len(idx) == 0 {
		return nil, false, err
	}
	left, ranges, kept := r.file.pageRanges(g, p, odd)
	k.ranges.Add(int64(ranges))
	k.byPages.Add(int64(ranges - kept))
	left = clipRanges(left, opts.From, opts.To)
	if len(left) == 0 {
		return nil, true, nil
	}
	prog, schema := r.filterOf()
	cols := opts.Columns
	if prog != nil {
		cols = nil
		for _, f := range schema.Fields() {
			cols = append(cols, f.Name)
		}
	} else if ranges == kept {
		return nil, false, nil
	}
	if len(left) == 1 && left[0] == (rowRange{0, r.file.RowGroupRows(g)}) { // the filter's columns are read whole
		r.announce(cols, g, g+1)
	}
	if lazy, err = newLazyGroup(r.file, g, opts, cols, left); err != nil {
		return nil, true, err
	}
	lazy.matches = func(rec arrow.RecordBatch) ([]uint32, bool, error) { return r.matches(prog, schema, rec) }
	return lazy, true, nil
}

func clipRanges(ranges []rowRange, from, to int64) (out []rowRange) {
	for _, x := range ranges {
		if x = (rowRange{max(x.from, from), min(x.to, to)}); x.from < x.to {
			out = append(out, x)
		}
	}
	return out
}

// matches asks the filter about a batch of its columns.
func (r *sourceReader) matches(prog *expr.Program, schema *arrow.Schema, rec arrow.RecordBatch) (rows []uint32, all bool, err error) {
	if prog == nil {
		return nil, true, nil
	}
	rec.Retain()
	full, err := r.completeAs(schema, rec)
	if err != nil {
		return nil, false, err
	}
	defer full.Release()
	rows, all, failed, err := prog.Select(r.rt.Allocator(), full, nil)
	if err == nil && len(failed) > 0 {
		all = true // the filter behind the source tells of them
	}
	return rows, all, err
}
