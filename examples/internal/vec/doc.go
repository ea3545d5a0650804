// Package vec compares vectors, for the examples.
package vec
