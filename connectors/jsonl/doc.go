// Package jsonl reads and writes JSON lines: one JSON object a line, as typed Arrow columns.
//
// Reading. The schema is inferred from a bounded sample and pinned; every line is then parsed straight into the columns of the pinned
// schema, without a tree or a tape in between, by a scanner that checks JSON's grammar in full. A line that is no sound JSON object, or
// holds a value that its column cannot hold exactly, is a row error with line, byte, column, value and the option that would let it pass.
// The identity of a row is the byte offset of its line. Files are cut at any byte: a split owns the lines that start in it.
//
// A file that is not named for lines may hold one array of objects, or objects over several lines (form.go): values.go makes lines of them,
// byte for byte. Such a file is read in order, as one split; errors count its elements.
//
// It does not read dictionary, map and union columns.
//
// Read source.go first, then reader.go, decode.go and object.go; encode.go is the other direction.
package jsonl
