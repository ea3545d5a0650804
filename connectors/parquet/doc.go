// Package parquet reads and writes Parquet files as Arrow record batches, and
// is the "parquet" connector of Sluice.
//
// [Open] reads the footer of a file; [File.Read] then reads rows of one row
// group: pages go straight into Arrow buffers of the caller's allocator, for
// the columns that are wanted only, in batches bounded by rows and bytes.
// [File.Stats] gives the statistics of a row group to whoever prunes. [Writer]
// encodes record batches into row groups and never holds more than it reports
// through Buffered. [Concat] joins files by copying their row groups. Files of
// both have page indexes, side by side in front of the footer; only row groups of
// hundreds of columns and one page each have none.
//
// Under a filter, row groups are left out by their statistics and Bloom
// filters, ranges of rows by the page index, and the filter's columns are
// decoded before the others (prune.go, lazy.go). Row groups of very many
// columns are read some columns after the others (internal/read/staged.go).
//
// Types follow the ARROW:schema entry of the footer where there is one, as in
// pyarrow: dictionaries, time zones, large and fixed-size lists and extension
// types survive a round trip, and files of either side read the same on the
// other. Extension types are stored as their storage type with their name in
// that entry, so any reader gets the storage without knowing the type.
//
// What it will not do: encrypted files, LZO, files that keep column chunks in
// other files, unions, intervals, run-end encoded and view types. Each is
// refused by name.
//
// The metadata and page layers are this package's own, on the encodings of
// github.com/parquet-go: see internal/meta and internal/read for why. Read
// file.go first, then reader.go and writer.go.
package parquet
