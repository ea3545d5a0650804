// Package csv reads and writes comma-separated values, and their relatives with tabs and semicolons, as typed Arrow columns.
//
// Reading. Records are those of RFC 4180: fields in quotes may hold delimiters, line breaks and doubled quotes. Types are inferred from
// a bounded sample and pinned; every record is then parsed straight into the columns of the pinned schema. A field that its column cannot
// hold, or a record of the wrong number of fields, is a row error with line, byte, column, value and the option that would let it
// pass. The identity of a row is the byte offset of its record (in the decompressed text; of UTF-16, in the same text as UTF-8).
//
// An empty field without quotes is null; one in quotes is empty text in columns of text and null in all others. A quote inside a field
// without quotes is an ordinary character.
//
// Big local files are cut at any byte. Where the first record of a range starts is guessed from the text there, and made certain before a
// row leaves the reader: most of the text before is parsed by then, and of the rest the quotes are counted (cuts.go); where quotes stand at
// places that make counting them ambiguous, the machine that defines records runs instead (machine.go). A range that was begun at a wrong
// place is read again. Compressed files, UTF-16 and files that are not local are read in order, as one split.
//
// It does not read nested columns, delimiters of several bytes, or line ends other than LF and CRLF.
//
// Read source.go first, then reader.go, parser.go and column.go; encode.go is the other direction.
package csv
