// Package lint looks for mistakes and needless costs in a pipeline before it runs, each with what to do about it.
//
// A rule is one file: it adds itself to the table of rules and looks at a Job, which holds the plan with the schema of every step. Rules ask
// Specs what they can do, as the optimizer does, and name no step. What the optimizer mends by itself is no finding.
//
// Nothing is written. A rule may list names of the source, and read a few of its rows, within the bounds that job.go sets. Read lint.go first.
package lint
