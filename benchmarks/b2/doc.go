// Package b2 measures requests to a real Triton server, inline and through shared memory: `make bench-models`. Rounds of the two alternate in one run; only their
// ratio counts.
package b2
