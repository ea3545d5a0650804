package jsonl

import "io"

// ArrayLines is what the reader of arrays makes of r.
func ArrayLines(r io.Reader) ([]byte, error) { return io.ReadAll(newValueReader(r, formArray)) }
