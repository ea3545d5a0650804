// Package pipeline reads what a person types: pipeline strings ("a.jsonl | where x > 1 | out.parquet") and job files, both into the same
// small tree, and builds that tree into a dataset by the names of a Registry.
//
// Parse and LoadJob know the grammar and nothing of what steps mean; Env.Build asks the Registry. The extension of a path chooses reader
// and writer. Every mistake is an *Error that knows its byte in the string or its line in the job file, and is a *dataset.UsageError.
//
// It reads no data: it lists the names of a folder, a bounded number of them, where only they tell the reader, and nothing else.
//
// Read ast.go first, then parse.go (strings), job.go (job files) and build.go.
package pipeline
