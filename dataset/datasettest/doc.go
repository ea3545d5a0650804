// Package datasettest runs one operator without an engine, for tests of operators. Its runtime keeps the contract of dataset.Runtime and
// checks that the operator keeps its own: every block and byte is released, row counts of tokens come out right, a block is not used
// after Process returned, nothing is called after Close.
//
// Read run.go first; Shapes in shapes.go gives the same rows cut into blocks in many ways. Subpackage arraytest has what needs Arrow alone.
// The executor's own tests cover what this package leaves out: waits, retries and fusion.
package datasettest
