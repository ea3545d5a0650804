// Package store holds the places where blocks live: the heap, shared memory, and disk, behind one interface (Tier), and the shared memory itself
// (Shared), which model servers and Python processes on this machine read without a copy.
//
// Shared memory is a set of segments: files with flat names in one folder (/dev/shm), mapped once, cut into slots of one size class each, and
// recycled. What it promises:
//
//   - Space is taken when a segment is made (fallocate), so a full folder is an error at allocation, never a SIGBUS later. A segment
//     never shrinks; it is unlinked, and unmapped when nobody uses it.
//   - Memory given out starts at a multiple of 64. Locate tells (segment, offset, length) of any bytes inside; another process maps the file of
//     that name and finds them there. Each slot has a generation, odd while it is in use, that the owner counts up at each change, in the
//     segment's header too: a Span of an earlier one is refused.
//   - What a client uses is pinned through its Conn; closing that when the connection ends, however it ends, gives everything back.
//   - Nothing outlives its owner: each Shared holds a lock on a file beside its segments, and whoever opens the folder next removes the
//     segments whose owner's lock is free. The lock works across containers that share the folder, where process ids mean nothing.
//   - Bytes are charged like those of block.Allocator, to the same account, until the last user lets go.
//
// Read shared.go first, then conn.go; segment.go has the layout that other languages read.
package store
