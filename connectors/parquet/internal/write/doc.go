// Package write encodes Arrow arrays into Parquet column chunks.
//
// Each leaf column has a [Leaf]: the page being filled, the encoded pages of
// the row group so far, a dictionary while it pays, and the statistics. Flat
// columns are appended in runs, with their validity bitmap copied as definition
// levels; nested ones are walked row by row (walk.go).
//
// Where a page ends, when a dictionary is given up, and in which order its
// values lie depend on the rows alone, never on how they were cut into
// batches: the same rows give the same bytes. Pages are V1 data pages, which
// every reader knows; their bounds and places are the page index (pages.go).
package write
