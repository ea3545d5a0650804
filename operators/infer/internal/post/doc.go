// Package post makes columns of what a model answered. An Output is one column and the way to it (the tensor as it is, the best labels, a
// text); it is asked for its type at plan time, and bound to a model when the run begins.
//
// Read output.go first, then raw.go.
package post
