// Package backpressure holds the rules that decide whether a stage may do more work: pure functions from a Snapshot of plain numbers
// to a Verdict that carries a reason, and the arithmetic of the memory budget. It has no state of a run, no lock, no clock and imports nothing of
// the project; the scheduler asks it on every decision, and tests ask it about made-up moments.
//
// A policy holds a stage back or it does not; policies are composed by a Chain, whose first policy that holds gives the reason. The
// cheap question (Held) and the worded answer (Decide) are apart, so that deciding allocates nothing.
//
// Budget divides a node's bytes into reservations, a shared part and an overdraft and accounts for who holds what. It never grants more than its
// total. Waiting, priorities between waiters and the overdraft's holder are the scheduler's business.
//
// Read policy.go first. What this package will not do: measure, queue, wait, or know what a block is.
package backpressure
