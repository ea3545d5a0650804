// Package cache keeps the answers of models in a folder, for later runs: one file a model, version and card, found by a hash of the inputs. A file is
// a bbolt database of two buckets: keys to places, and frames of answers (package codec), as they came from the model. What is not yet on disk when
// the process dies is asked again.
//
// Read cache.go first, then key.go.
package cache
