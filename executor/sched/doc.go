// Package sched is the scheduler of Sluice: a pure state machine. It is told what happened (an Event, with its time) and answers with
// what to do (Effects). It has no clock, no goroutine, no lock and no I/O; whoever drives it serialises the calls. The local executor drives it
// with real workers, the simulator in its tests with imaginary ones, and a cluster's driver with remote ones.
//
// The machine owns the queues between stages, the CPU slots, the memory budget, and the order of results. It works by counters that
// each event updates; nothing is polled and nothing is recomputed over the whole plan. Blocks are opaque to it.
//
// Read api.go first: it is the whole contract.
package sched
