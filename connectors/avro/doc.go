// Package avro reads and writes Avro object container files.
//
// Schemas are parsed by github.com/twmb/avro; the binary data is decoded straight into columns here. A record gives a column a field, any
// other schema the column "value". A union of null and one type is a nullable column; a union of several types is a struct with a field
// member0, member1, … for each, of which one has a value. Logical types become Arrow's: dates, times, timestamps (local ones have no zone),
// decimals. Enums are text.
//
// Positions are row numbers. Plain files are divided at sync markers, which the headers of blocks lead to. Damage ends the file with an
// error that names the block and the row, because what follows a broken value in a block cannot be found.
//
// Read container.go first, then types.go and decode.go; writer.go is the other direction.
package avro
