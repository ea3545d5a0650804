// Package dataset is the floor of the house: what a pipeline is, not how it runs. It holds the lazy, immutable Dataset, the plan it
// builds, the contracts of sources, operators, sinks and runners, the registry through which all of them are found by name, the
// optimizer rules and the errors.
//
// It runs nothing and imports no other folder than its own. Read operator.go first (the contract everyone implements), then
// source.go, sink.go and dataset.go.
package dataset
