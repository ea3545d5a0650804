// Package columns grows Arrow arrays value by value for the readers of text formats: plain appends to buffers of the reader's allocator,
// without the per-call bookkeeping of arrow's builders, and rows that can be taken back when they prove broken.
//
// A column is used by one goroutine. Take hands its array over and empties it for the next block; Release frees it at any time. Reading
// the text is the caller's.
//
// Read vec.go first, then column.go.
package columns
