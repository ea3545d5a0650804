// Package all registers every connector. A new connector adds one line to the table in all.go and nothing anywhere else.
package all
