// Package sluice is a streaming multimodal data engine: read images, tables and files; decode, filter, deduplicate, transform, with steps that have
// names or with functions of your own; write what is worth keeping, or loop over it. It keeps every core busy, stays within a budget of
// bytes, and publishes results whole.
//
//	s, err := sluice.Open(ctx)
//	defer s.Close()
//	report, err := s.ReadImages("photos/").
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
