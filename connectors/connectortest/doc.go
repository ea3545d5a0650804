// Package connectortest is the conformance suite that every connector runs: what the contracts of dataset.Source promise, as tests. A
// connector calls RunSource with a way to make sources over the same data; Runtime stands in for the engine, and FaultFS for a disk
// that fails.
//
// For files that are written, RunSink checks a dataset.Format through the file sink; TextFormat is the smallest one.
//
// It is imported by tests only. Read source.go first, then sink.go.
package connectortest
