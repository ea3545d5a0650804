// Package numpy reads NumPy's .npy and .npz files and writes .npy.
//
// Rows run along the first axis. A .npy file is one column, "value"; each array of a .npz is a column of its name, and all must have as many
// rows (arrays= picks some). One-dimensional arrays give plain columns, those of more dimensions fixed-size lists, nested an axis each. Booleans, integers,
// floats, datetime64, timedelta64, bytes (S) and text (U) are read in both byte orders and in C and Fortran order; NaT is null. Complex
// numbers, records and objects are refused; pickles are never read.
//
// Positions are row numbers. Plain .npy files and stored members of .npz are read at any row and divided; compressed ones are read in order.
// Headers are parsed as the one literal that they are, and shapes are checked against the bytes that are there.
//
// Read header.go first, then array.go, source.go; writer.go is the other direction.
package numpy
