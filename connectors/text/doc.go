// Package text reads and writes plain text, one row a line.
//
// Reading gives the columns path and text. LF and CRLF end lines and are not part of the text; an empty line is an empty text. The identity
// of a row is the byte offset of its line (in the decompressed text; of UTF-16, in the same text as UTF-8). Files are cut at any byte: a
// split owns the lines that start in it. Compressed files and UTF-16 are read in order, as one split.
//
// Writing takes one column of text and writes a line of each value.
//
// Read source.go first, then reader.go; format.go is the other direction.
package text
