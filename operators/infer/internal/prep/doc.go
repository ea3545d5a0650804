// Package prep makes the inputs of a model from the cells of rows. A Feature is one way to do it (the column as it is, a picture, a text);
// it fills one or more tensors of the request. Measure is cheap and runs where batches are formed; a Loader does the work,
// beside the operator, and belongs to one goroutine at a time.
//
// Read feature.go first, then raw.go for the smallest feature.
package prep
