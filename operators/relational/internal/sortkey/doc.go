// Package sortkey writes the values of rows as bytes whose order is the order of the rows, so that sorting and merging compare bytes
// and know no types.
//
// Every value begins with a marker that puts nulls first or last. Numbers are big-endian with their sign turned over; NaN is above all
// numbers and -0 equals 0; text escapes its zeroes and ends in two, so that a shorter text is below a longer one that begins like it and what follows
// in the key cannot reach into it. Lists compare element by element, structs field by field. For descending keys all bytes but the
// marker are inverted.
package sortkey
