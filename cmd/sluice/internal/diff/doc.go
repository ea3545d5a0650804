// Package diff compares the rows of two datasets by a key, of any size.
//
// Both are read as one plan: their rows are marked with the side they are of, joined by a union and sorted by the key and the side, which
// spills to disk as every sort does. The sorted rows are then compared neighbour by neighbour, and never more of them are held than have one key.
//
// It prints nothing. Read diff.go first, then rows.go.
package diff
