// Package coltype reads the columns and types that people write in options: "id:int64, tags list<string>, vector list<float32, 512>". Readers of text take
// them for how named columns are read, user functions for what they return. Read coltype.go, which is all of it.
package coltype
