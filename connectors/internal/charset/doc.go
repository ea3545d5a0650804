// Package charset reads text in the encodings that files are found in: UTF-8, UTF-16, Latin-1 and Windows-1252, with and without byte order
// marks.
//
// Latin-1 and Windows-1252 hold one character a byte and ASCII as it is: formats find their delimiters in the bytes of the file and decode
// values alone (Append), so that positions stay those of the file. UTF-16 is decoded as a stream (Reader).
package charset
