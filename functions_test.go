package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/dataset"
)

func TestRowsOfStructs(t *testing.T) {
	type person struct {
		Name  string `sluice:",zero"`
		ID    int64
		Score *float64
		Tags  []string `sluice:",zero,copy"`
	}
	ds := open(t).ReadJSONL(file(t, "people.jsonl", people))
	var got []person
	for p, err := range sluice.Rows[person](t.Context(), ds, sluice.WithOrdered()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	if len(got) != 3 || got[0].Name != "ada" || *got[0].Score != 0.5 || got[0].Tags[1] != "y" || got[1].Score != nil || got[2].ID != 3 {
		t.Errorf("rows are %+v", got)
	}
}

func TestRowsThatDoNotFit(t *testing.T) {
	type strict struct{ Name string }
	ds := open(t).ReadJSONL(file(t, "people.jsonl", people))
	n, failed := 0, error(nil)
	for _, err := range sluice.Rows[strict](t.Context(), ds) {
		if err != nil {
			failed = err
			break
		}
		n++
	}
	if failed == nil || !strings.Contains(failed.Error(), `column "name" is null`) {
		t.Errorf("the error is %v", failed)
	}
	var report dataset.Report
	n = 0
	for _, err := range sluice.Rows[strict](t.Context(), ds, sluice.WithOnError(sluice.Skip), sluice.WithReport(&report)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 || report.RowsFailed != 1 {
		t.Errorf("%d rows, %d failed; want 2 and 1", n, report.RowsFailed)
	}
	type wrong struct{ Nmae string }
	for _, err := range sluice.Rows[wrong](t.Context(), ds) {
		if err == nil || !strings.Contains(err.Error(), `did you mean "name"`) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	type in struct{ ID int64 }
	ds := sluice.MapRows(open(t).ReadJSONL(file(t, "people.jsonl", people)), func(ctx context.Context, r in) (in, error) {
		cancel(enough)
		<-ctx.Done()
		return r, nil
	})
	if _, err := ds.Count(ctx); !errors.Is(err, enough) {
		t.Errorf("the error is %v", err)
	}
}

func TestPanicsAreErrorsOfTheirRow(t *testing.T) {
	type in struct{ ID int64 }
	ds := sluice.MapRows(open(t).ReadJSONL(file(t, "people.jsonl", people)), func(_ context.Context, r in) (in, error) {
		if r.ID == 2 {
			panic("two")
		}
		return r, nil
	})
	_, err := ds.Count(t.Context())
	if p, ok := errors.AsType[*dataset.PanicError](err); !ok || !strings.Contains(err.Error(), "internal error in map at") {
		t.Errorf("the error is %v (%v)", err, p)
	}
	if n, err := ds.Count(t.Context(), sluice.WithOnError(sluice.Skip)); n != 2 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestMapBatchesMayChangeTheNumberOfRows(t *testing.T) {
	twice := func(_ context.Context, mem memory.Allocator, in arrow.RecordBatch) (arrow.RecordBatch, error) {
		ids := in.Column(0).(*array.Int64)
		out, parent := array.NewInt64Builder(mem), array.NewUint32Builder(mem)
		defer out.Release()
		defer parent.Release()
		for i, id := range ids.Values() {
			out.AppendValues([]int64{id, id * 10}, nil)
			parent.AppendValues([]uint32{uint32(i), uint32(i)}, nil)
		}
		cols := []arrow.Array{out.NewArray(), parent.NewArray()}
		defer cols[0].Release()
		defer cols[1].Release()
		schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64},
			{Name: sluice.ParentColumn, Type: arrow.PrimitiveTypes.Uint32}}, nil)
		return array.NewRecordBatch(schema, cols, int64(cols[0].Len())), nil
	}
	schema := func(*arrow.Schema) (*arrow.Schema, error) {
		return arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil), nil
	}
	ds := open(t).ReadJSONL(file(t, "people.jsonl", people)).Select("id")
	rows, err := sluice.MapBatches(ds, schema, twice, sluice.BatchSize(2), sluice.FuncName("twice")).Take(t.Context(), 9)
	if got := fmt.Sprint(rows); err != nil || got != "[map[id:1] map[id:10] map[id:2] map[id:20] map[id:3] map[id:30]]" {
		t.Errorf("rows are %v, %v", got, err)
	}
}

func TestFunctionsFailTheirRowOnly(t *testing.T) {
	type in struct{ ID int64 }
	ds := open(t).ReadJSONL(file(t, "people.jsonl", people))
	bad := errors.New("two is bad")
	ds = sluice.FilterRows(ds, func(_ context.Context, r in) (bool, error) {
		if r.ID == 2 {
			return false, bad
		}
		return true, nil
	})
	if _, err := ds.Count(t.Context()); !errors.Is(err, bad) {
		t.Errorf("the error is %v", err)
	}
	var r dataset.Report
	n, err := ds.Count(t.Context(), sluice.WithOnError(sluice.Skip), sluice.WithReport(&r))
	if n != 2 || err != nil || r.RowsFailed != 1 {
		t.Errorf("%d rows, %d failed, %v", n, r.RowsFailed, err)
	}
}
