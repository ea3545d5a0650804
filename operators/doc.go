// Package operators has the operators on rows and columns of any type: where, select, drop, rename, with, limit, sample, union,
// repartition, unnest and download, and Map, FlatMap and BatchMap for functions written in Go. One file is one operator; what needs more than
// memory can hold is in relational, pictures are in media.
//
// A file holds the parameter struct, the Spec with what it can tell optimizer rules, and the instance. It registers itself in the
// table of register.go. Read where.go first. Nothing here starts a goroutine or knows what runs it.
package operators
