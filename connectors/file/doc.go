// Package file is what every connector that reads files shares: finding files (globs, folders, literal paths), pinning them,
// dividing them into splits, and reading them.
//
// Contract. A listing is streamed in one deterministic order, the byte order of whole paths, and holds the names of one folder a
// level at a time; it can be resumed after any path. A listed file is pinned by size and modification time (ETag on object stores):
// whoever reads it gets exactly that version or an error that names it. FS is the seam to the place that holds the files; Local is
// the one for this machine, and an object store is another file here.
//
// The package decodes nothing beyond compressions (compress.go). Read fs.go first, then set.go (patterns to files) and split.go (files to splits).
package file
