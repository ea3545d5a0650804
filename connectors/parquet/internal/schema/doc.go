// Package schema maps Parquet schemas to Arrow schemas and back.
//
// [FromFile] turns the footer of a file into a tree of [Field]: the Arrow type
// of every column and the definition and repetition levels that the reader
// needs to rebuild it. The types come from the logical types of Parquet,
// refined by the ARROW:schema entry of the footer when there is one: that is
// where dictionaries, time zones, large and fixed-size lists and extension
// types survive. [FromArrow] is the way back, for the writer.
//
// The rules are those of Arrow C++, so that pyarrow and Sluice see the same
// types in the same file. Not mapped: unions, intervals, run-end encoded and
// view types.
package schema
