// Package pool spreads requests over the replicas of one model. Each replica has a window, the requests it may have in flight, which
// grows while nothing waits there and shrinks when something does; a request goes to the replica with the least to do. What fails is classed
// once, here: tried again elsewhere, the fault of the request, or the end of the run. A replica that is not healthy is ejected and asked
// again with growing waits until it is.
//
// It knows nothing of rows or batches, and starts no goroutines: callers' goroutines do the waiting and the asking.
//
// Read pool.go first, then window.go.
package pool
