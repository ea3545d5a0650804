// Package cli is the command line of Sluice without the engine: it reads flags, pipelines and job files, opens a Session through a
// function it is given, runs, and shows rows, progress, mistakes and a summary.
//
// Results go to standard output and everything else to standard error. Main returns the exit code: 0 done, 1 failed, 2 a mistake of
// usage, 3 finished with dead letters, 130 interrupted and resumable.
//
// The commands about results that are there (runs, errors, inspect, retry) read their state beside them through executor/commit;
// results.go finds them, also by the id of a run.
//
// It computes nothing of its own. Read program.go first, then run.go; what is printed is in table.go, summary.go, problem.go and display.go.
package cli
