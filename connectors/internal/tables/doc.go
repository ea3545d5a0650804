// Package tables is what sources of files that carry their own schema share: pinning the schema over a sample of files, projection, the
// limit hint, splits, resuming inside a file, columns that a file lacks, and the path column. A connector gives a Format, which says what is
// in one file and reads a range of it.
//
// It also cuts rows into batches for encoders, at places that depend on the rows alone (Gather).
//
// Files are read in the order of the listing. Positions of rows are the format's own: row numbers or byte offsets, ascending in a file. A
// file whose columns have other types than the pinned ones is refused, naming both; nothing is converted here.
//
// Read source.go first, then reader.go.
package tables
