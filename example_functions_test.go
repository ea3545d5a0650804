package sluice_test

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/operators/python"
)

// Out embeds In, so that its columns stay.
func ExampleMapRows() {
	type Event struct {
		ID   int64
		Text string
	}
	type Counted struct {
		Event
		Words int
	}
	s := session()
	defer s.Close()
	ds := events(s).Filter("text != nil").Select("id", "text")
	show(sluice.MapRows(ds, func(_ context.Context, e Event) (Counted, error) {
		return Counted{Event: e, Words: len(strings.Fields(e.Text))}, nil
	}).Limit(3))
	// Output:
	// {"id":1,"text":"Guten Morgen","words":2}
	// {"id":2,"text":"Good morning","words":2}
	// {"id":3,"text":"Der Zug hat leider Verspätung","words":5}
}

func ExampleFlatMapRows() {
	type Event struct {
		ID   int64
		Text string
	}
	type Word struct {
		ID   int64
		Word string
	}
	s := session()
	defer s.Close()
	show(sluice.FlatMapRows(events(s).Limit(2), func(_ context.Context, e Event) ([]Word, error) {
		var out []Word
		for _, w := range strings.Fields(e.Text) {
			out = append(out, Word{e.ID, w})
		}
		return out, nil
	}))
	// Output:
	// {"id":1,"word":"Guten"}
	// {"id":1,"word":"Morgen"}
	// {"id":2,"word":"Good"}
	// {"id":2,"word":"morning"}
}

// A function that fails fails its row, which the error policy of the run may leave out.
func ExampleFilterRows() {
	type Event struct{ Text *string }
	s := session()
	defer s.Close()
	skipping := s.With(sluice.WithOnError(sluice.Skip))
	show(sluice.FilterRows(events(skipping), func(_ context.Context, e Event) (bool, error) {
		if e.Text == nil {
			return false, errors.New("there is no text")
		}
		return strings.Contains(*e.Text, "Zug"), nil
	}).Select("id", "text"))
	// Output:
	// {"id":3,"text":"Der Zug hat leider Verspätung"}
	// {"id":5,"text":"Der nächste Zug ist pünktlich"}
}

// A batch function gets Arrow columns and returns Arrow columns.
func ExampleMapBatches() {
	percent := func(_ context.Context, mem memory.Allocator, in arrow.RecordBatch) (arrow.RecordBatch, error) {
		scores := in.Column(0).(*array.Float64)
		b := array.NewFloat64Builder(mem)
		defer b.Release()
		for i := range scores.Len() {
			if scores.IsNull(i) {
				b.AppendNull()
			} else {
				b.Append(scores.Value(i) * 100)
			}
		}
		out := b.NewArray()
		defer out.Release()
		return array.NewRecordBatch(in.Schema(), []arrow.Array{out}, in.NumRows()), nil
	}
	s := session()
	defer s.Close()
	show(sluice.MapBatches(events(s).Select("score"), sluice.SameSchema, percent, sluice.BatchSize(1024)))
	// Output:
	// {"score":93.0}
	// {"score":97.0}
	// {"score":41.0}
	// {"score":88.0}
	// {"score":95.0}
	// {"score":null}
}

// The class is in the file scorer.py; its attribute schema says which columns it returns.
func ExampleDataset_Map() {
	s := session()
	defer s.Close()
	scored := events(s).Map(python.Class("scorer:Scorer", python.Columns("text"), python.Arg("model", "small"), python.Processes(2)), sluice.BatchSize(256))
	show(scored.Select("id", "score"))
}
