// Package meta reads and writes the metadata of Parquet files: the footer and
// the headers of pages.
//
// The structures are those of parquet.thrift, cut down to what the connector
// uses. They differ from parquet-go's in two ways that matter here: an absent
// null count is told apart from a count of zero (pruning would otherwise drop
// row groups that hold nulls), and the flags that say whether a minimum or a
// maximum is exact are kept.
//
// Everything in this package may be fed hostile bytes. A footer is walked once
// by [check] before it is decoded, so that no list is allocated that its bytes
// cannot fill, and [Read] then checks every offset and size against the size
// of the file. Start with file.go.
package meta
