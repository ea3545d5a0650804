// Package lines cuts ranges of files of lines into runs of whole lines, in bounded memory, for the formats that hold one row a line.
//
// A range owns the lines that start in it: its first line begins after the first newline at or behind the byte before the range. One
// goroutine uses one Chunks.
package lines
