// Package simdjson compares the reader of JSON lines with a tape of minio/simdjson-go, in one run on the same bytes. It is a module of its own,
// so that the engine does not depend on what it is only compared with: run "go test -bench ." in this folder. The figures are in
// docs/decisions/parsers.md.
package simdjson
