// Package scalar reads single values from text: numbers, dates, times and decimals, exactly and without allocating. The text formats
// share it, so that one spelling means the same value in each.
//
// Nothing here knows a file format: what surrounds a value, which spellings are null and what an error says is the caller's.
//
// Read number.go first.
package scalar
