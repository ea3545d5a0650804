// Package binary reads whole files as bytes: one row a file, with the columns path and data.
//
// It decodes nothing and judges nothing: an empty or broken file is a row like any other. A file over the limit, or one that cannot be
// opened or changed since it was listed, is a row error, because here the file is the row. Sizes are known from the listing, so the
// data of a block is read into one buffer of exactly its size.
//
// Connectors whose rows are files build on Config (see connectors/images). Read source.go first, then reader.go.
package binary
