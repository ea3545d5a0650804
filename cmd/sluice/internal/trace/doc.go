// Package trace runs a few rows through a pipeline, one step after the other, and keeps what each step took and gave.
//
// The first rows of the source are read, and no more of it than the steps need to give a row: when all rows that were read are dropped on the
// way, some more are read, up to a bound. Each step runs on the engine as a plan of its own over the rows that the one before it gave, so that
// rows which fail or are dropped can be told one by one. Steps that see all rows in a run (sort, mark-duplicates) see the sample only.
//
// It prints nothing, writes nothing and knows no operator by name. Read trace.go first.
package trace
