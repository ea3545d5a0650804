// Package level decodes and encodes the run-length and bit-packed hybrid of
// Parquet: definition and repetition levels and dictionary indexes.
//
// The decoder is incremental, so that a page of a billion nulls costs no more
// than the rows that are asked for, and it turns definition levels of one bit
// straight into an Arrow validity bitmap, because a bit-packed run is one.
package level
