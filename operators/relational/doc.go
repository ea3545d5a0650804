// Package relational has the operators that look at all rows before the first comes out, and that spill to disk what memory does not hold: sort.
//
// Each is a barrier in two phases. Instances gather rows and leave sorted runs; partitions of the key range then merge the runs in
// parallel. Read sort.go first, then run.go (how a run is made), merge.go (how runs become rows again); keys as bytes are in
// internal/sortkey. Memory that is held is reserved before it is taken; what was reserved and is refused leads to a spill, not to a wait.
package relational
