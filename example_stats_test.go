package sluice_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sluice-data/sluice"
)

func ExampleDataset_Stats() {
	s, err := sluice.Open(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ds := s.Read("examples/data/events.jsonl").Filter("score > 0.9")
	if _, err := ds.Count(context.Background()); err != nil {
		log.Fatal(err)
	}
	report, _ := ds.Stats()
	for _, stage := range report.Stages {
		fmt.Println(stage.Name, stage.RowsIn, stage.RowsOut)
	}
	// Output:
	// read jsonl 0 6
	// where 6 3
	// hand over 3 0
}
