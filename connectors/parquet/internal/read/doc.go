// Package read turns the pages of Parquet column chunks into Arrow arrays.
//
// A [RowGroup] reads some columns of one row group, a number of rows at a
// time. Each leaf column has a window on its chunk (source.go), the page being
// read (page.go), a reader of that page's values (values.go, bytes.go) and a
// builder (build.go) whose buffers come from the caller's allocator: values
// are copied from the decompressed page into Arrow's buffers once and never
// aliased. Flat columns go through leaf.go, where one-bit definition levels
// become validity bitmaps without being looked at one by one; nested ones
// through nested.go and assemble.go, which rebuild lists, maps and structs
// from levels.
//
// Pages may be hostile. Every count and length is checked against the bytes
// that are there, memory is taken in proportion to pages and to the rows asked
// for, and panics of the decoders below are turned into errors in rowgroup.go.
package read
