// Package object reads and writes object stores (s3://, gs://, az://) and reads the web (http://, https://).
//
// Contract. The package adds schemes to connectors/file, so that every connector that reads and writes files does so on object stores
// too; there is no source or sink of its own. Objects are pinned by their ETag (generation on gs://): each range is asked for on
// condition that it is still that version. What a reader will want is fetched ahead, several requests at a time: text in order (ahead.go), announced
// parts side by side (beside.go), small files as a whole (whole.go), within the memory budget of the run (budget.go). A dropped body is resumed where it broke, throttling and failures of the store are waited
// out with growing pauses (Retry-After is obeyed), and reading ends with an error when nothing has arrived for Config.Patience.
//
// Results are uploaded below _sluice/RUN/stage/ and published by server-side copy. Small state objects (manifests) are created only
// if absent; the run log is a series of numbered objects; a run holds a lease object, which it renews, and which another run takes
// over when the holder is dead: at once if that can be told on the same machine, else after the lease was not renewed for 30 s.
//
// Credentials, regions and endpoints come from the environment (config.go), never from a URL, and are never printed.
//
// Build tags bring in the clouds whose clients would double the binary and the memory of every start: gs and az.
//
// It will not: rename folders, list the web, or append to objects. Read config.go first, then bucket.go, handle.go (reading),
// disk.go (writing), storage.go and lease.go (state of results).
package object
