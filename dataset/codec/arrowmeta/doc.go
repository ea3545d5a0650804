// Package arrowmeta reads Arrow's flatbuffer metadata with bounds checks: schemas inside Parquet files, messages and footers of IPC files.
//
// Arrow's own reader allocates by the vector lengths that it finds and trusts every offset. Here a length that its bytes cannot fill, an
// offset that leaves the buffer, deep nesting and shared tables that unfold exponentially are errors. It decodes no data.
//
// Read flat.go first, then schema.go.
package arrowmeta
