// Package fetch gets the bytes behind one URL: http, https, and file URLs of a folder that was allowed.
//
// URLs come from data, so they are not trusted. Addresses are checked when they are dialled, after names were resolved and for every
// redirect, so that no name can lead into the private network. Files are opened through an os.Root, which neither ".." nor a symbolic link
// leaves. The size of a body is known before memory is taken for it, or memory grows with it up to the limit. Failures that may go away are
// tried again, not before the server said so.
//
// Read fetch.go first. The package starts no goroutine that outlives a call.
package fetch
