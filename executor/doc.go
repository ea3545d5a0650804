// Package executor runs plans on one machine. It compiles a logical plan into stages, drives the pure scheduler of package sched
// with real workers, keeps memory within the budget, retries, counts failed rows, and hands finished rows to package commit.
//
// It sees only the contracts of package dataset, never an operator or a connector. One worker is one goroutine that runs one task
// at a time; every goroutine belongs to a run, and Run returns only after all of them ended.
//
// Read local.go (the Runner), then compile.go (plan to stages), run.go (events and effects), worker.go and chain.go (how a block
// goes through fused operators).
package executor
