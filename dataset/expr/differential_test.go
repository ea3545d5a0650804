package expr

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// same compares a result with the reference's. Zeros of either sign are equal, and so is every NaN.
func same(a, b any) bool {
	switch x := a.(type) {
	case float64:
		y, ok := b.(float64)
		return ok && orderFloat(x, y) == 0
	case []byte:
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	case instant:
		y, ok := b.(instant)
		return ok && x.v == y.v && arrow.TypeEqual(x.typ, y.typ)
	case *big.Rat:
		y, ok := b.(*big.Rat)
		return ok && x.Cmp(y) == 0
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !same(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}

// checkAgainstReference evaluates src over random data both ways.
func checkAgainstReference(r *rapid.T, src string) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	e, err := Parse(src)
	if err != nil && strings.Contains(err.Error(), "does not fit in 64 bits") {
		r.Skip(err) // the negative of a large literal
	}
	if err != nil {
		r.Fatalf("parse %s: %v", src, err)
	}
	if again, err := Parse(e.String()); err != nil || again.String() != e.String() {
		r.Fatalf("%s: canonical form %s does not parse to itself: %v", src, e, err)
	}
	p, err := Compile(e, fuzzSchema)
	if err != nil {
		if _, ok := errors.AsType[*TypeError](err); !ok {
			r.Fatalf("compile %s: %v is not a TypeError", src, err)
		}
		r.Skip(err)
	}
	rec := randomBatch(mem, r, e.Columns())
	arr, errs, err := p.Eval(mem, rec)
	if err != nil {
		r.Fatalf("eval %s: %v", src, err)
	}
	if !arrow.TypeEqual(arr.DataType(), p.Type()) || arr.Len() != int(rec.NumRows()) {
		r.Fatalf("%s: %d rows of %s, want %d of %s", src, arr.Len(), arr.DataType(), rec.NumRows(), p.Type())
	}
	if len(errs) > 0 && !e.Fallible() {
		r.Fatalf("%s: failed with %v, but is not fallible", src, errs[0].Err)
	}
	k := 0
	var want []uint32
	for i := range int(rec.NumRows()) {
		v, err := Reference(e, fuzzSchema, rec, i)
		if _, bad := errors.AsType[*TypeError](err); bad {
			r.Fatalf("reference %s: %v", src, err)
		}
		failed := k < len(errs) && errs[k].Row == i
		if failed {
			k++
		}
		got := refValue(arr, i)
		if failed != (err != nil) || err == nil && !same(got, v) || failed && got != nil {
			r.Fatalf("%s\ncanonical %s\nrow %d: got %v (failed %v), reference %v (%v)\nrow is %s", src, e, i, got, failed, v, err, describe(e, rec, i))
		}
		if v == true && err == nil {
			want = append(want, uint32(i))
		}
	}
	if k != len(errs) {
		r.Fatalf("%s: row errors %v are not ascending rows of the batch", src, errs)
	}
	if kindOf(p.Type()) == kindBool {
		checkSelect(r, p, mem, rec, want)
		if len(want) > 0 && !e.MayMatch(statsOf(rec)) {
			r.Fatalf("%s: MayMatch excludes a batch of which rows %v match", src, want)
		}
	}
	arr.Release()
	rec.Release()
	if n := mem.CurrentAlloc(); n != 0 {
		r.Fatalf("%s: %d bytes were not released", src, n)
	}
}

func checkSelect(r *rapid.T, p *Program, mem memory.Allocator, rec arrow.RecordBatch, want []uint32) {
	idx, all, _, err := p.Select(mem, rec, nil)
	switch {
	case err != nil:
		r.Fatalf("select %s: %v", p, err)
	case all && (len(want) != int(rec.NumRows()) || idx != nil):
		r.Fatalf("select %s: keeps all, want %v", p, want)
	case !all && fmt.Sprint(idx) != fmt.Sprint(want):
		r.Fatalf("select %s: got %v, want %v", p, idx, want)
	}
}

func describe(e *Expr, rec arrow.RecordBatch, i int) string {
	out := ""
	for _, c := range e.Columns() {
		out += fmt.Sprintf("%s=%v ", c, refValue(rec.Column(rec.Schema().FieldIndices(c)[0]), i))
	}
	return out
}

// statsOf computes true statistics as Parquet would have them: NaN is left out.
func statsOf(rec arrow.RecordBatch) func(string) (ColumnStats, bool) {
	return func(name string) (ColumnStats, bool) {
		arr := rec.Column(rec.Schema().FieldIndices(name)[0])
		s := ColumnStats{Rows: int64(arr.Len())}
		for i := range arr.Len() {
			v := refValue(arr, i)
			switch x := v.(type) {
			case nil:
				s.NullCount++
				continue
			case float64:
				if x != x {
					continue
				}
			case int64, uint64, string, []byte:
			default:
				continue
			}
			if s.Min == nil || orderAny(v, s.Min) < 0 {
				s.Min = v
			}
			if s.Max == nil || orderAny(v, s.Max) > 0 {
				s.Max = v
			}
		}
		return s, true
	}
}

// TestDifferential and FuzzDifferential evaluate random expressions over random batches both ways.
func TestDifferential(t *testing.T) { rapid.Check(t, differential) }

func FuzzDifferential(f *testing.F) { f.Fuzz(rapid.MakeFuzz(differential)) }

func differential(r *rapid.T) {
	g := gen{r}
	d := rapid.IntRange(1, 4).Draw(r, "depth")
	var src string
	switch g.pick(6) {
	case 0, 1:
		src = g.boolean(d)
	case 2:
		src = g.number(d)
	case 3:
		src = g.text(d)
	case 4:
		src = g.instant(d)
	default:
		src = g.any(d)
	}
	checkAgainstReference(r, src)
}
