// Package webdataset reads and writes tar shards in the layout of WebDataset: neighbouring members that share the path up to the first dot of
// their names are one sample, and what follows the dot is the column: a/0001.jpg and a/0001.json give a row with __key__ "a/0001" and the
// binary columns "jpg" and "json".
//
// The position of a row is the ordinal of its first member among the entries of the archive. Plain archives are divided at samples, without
// reading the members; compressed ones (.tar.gz, .tar.zst) and standard input are one split. Members are bytes and are never written to
// disk; a name that is absolute or climbs out of the archive, a member over max_member and an extension that comes twice fail the sample
// they are in. Folders, links and names without a dot are passed over.
//
// Read entries.go first, then reader.go; writer.go is the other direction.
package webdataset
