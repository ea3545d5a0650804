// Package arrowipc reads and writes Arrow IPC: files (.arrow, .feather version 2, .ipc) and streams (.arrows, and standard input).
//
// Positions of rows are row numbers in the file. A file, and a stream that can be seeked in, is divided at record batches, and of a batch
// only the columns that are wanted are read. Bodies may be compressed with LZ4 or Zstandard; dictionaries may grow (deltas) and, in
// streams, be replaced. Compressed streams (.arrows.gz) and standard input are read in order, as one split.
//
// Nothing in a file is trusted: lengths in messages are checked against the bytes that are there before anything is allocated, decoded
// batches are limited (max_batch), and offsets, lengths of children and dictionary indices are checked before a row is handed on.
// Views of text and bytes (as Polars writes them) become ordinary ones. Unions, views of lists, run-end encoding, big-endian data and Feather version 1 are refused by name.
//
// Read index.go first, then schema.go, decode.go, views.go; writer.go is the other direction.
package arrowipc
