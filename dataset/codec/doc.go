// Package codec turns record batches into frames of bytes and back: what spill files hold and what nodes send each other.
//
// A frame is self-contained but for the schema, which both sides know (see EncodeSchema). It carries Arrow IPC messages, so that any Arrow
// library can read its bodies, laid out by ourselves because the IPC stream puts buffers at 16 or 24 modulo 64: here every message
// and every buffer of an uncompressed body starts at a multiple of 64, so a frame in shared memory is read in place. A checksum covers all of it.
//
//	header    64 bytes: magic, version, compression, sections, total length, rows, raw length, xxh3 of the frame
//	table     32 bytes a section, padded to 64
//	sections  IPC metadata padded to 64, then the body padded to 64, compressed as a whole if asked for
//
// The last section is the record batch; those before it are the dictionaries it needs. Decoders trust nothing: lengths are checked
// against the frame and a limit before memory is taken, and arrays are checked before they are handed out.
//
// A StreamEncoder makes ordinary IPC streams with the same alignment, for processes that map them with another Arrow library; ViewStream reads what such a
// library writes, in place.
//
// The package does no I/O and keeps no goroutine. Read frame.go first.
package codec
