// Package sluice is a streaming multimodal data engine: read raw images, documents, text and tables; decode, filter, deduplicate, run models over them; write
// what is worth keeping, or feed it to a trainer. It keeps every core busy, stays within a byte budget, and loses nothing when something
// dies.
//
//	s, err := sluice.Open(ctx)
//	defer s.Close()
//	stats, err := s.ReadImages("photos/").
//		Decode().Resize(224, 224).
//		Filter("width >= 256").
//		WriteParquet("out/").
//		Run(ctx)
//
// A Dataset is lazy and immutable; nothing runs until Run, Blocks, Rows, Take, Count, Schema or Explain. This package only wires: operators are
// in operators, formats in connectors, the engine in executor.
//
// Read session.go first, then dataset.go; source.go, sink.go, terminal.go and functions.go are the ways in and out.
package sluice
