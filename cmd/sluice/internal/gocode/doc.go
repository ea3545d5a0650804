// Package gocode writes a pipeline as a Go program that does the same through the public API.
//
// The program runs with the options of a session that nobody changed; flags are not part of a pipeline. Nothing reads such a program back.
//
// Read program.go first, then calls.go, which says how each step is called.
package gocode
