// Package sql reads and writes tables of PostgreSQL (postgres://) and SQLite (sqlite:, .sqlite, .db).
//
// A Source reads a table or a query, in parallel by ranges of a key, and every reader of a run sees the same state of the database. What the
// plan wants less of is asked less for: columns, conditions that SQL can say, limits; values always travel as parameters.
//
// A sink stages each part where it cannot be seen (PostgreSQL: a table of its own; SQLite: an Arrow file beside the database) and publishes
// all parts of a run in one transaction, which also notes their names: redone after a crash it adds nothing twice.
//
// It will not take passwords in URLs, run statements that write on a source, or alter tables that exist.
//
// Read database.go first, then source.go and reader.go; postgres_*.go and sqlite_*.go are the two kinds of database.
package sql
