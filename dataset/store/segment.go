package store

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/sluice-data/sluice/dataset/block"
)

// The header of a segment, little-endian: magic, version, slots, then bytes of a slot and where the first one begins; from genAt one
// generation of 8 bytes a slot. The slots begin at a multiple of headerAlign.
const (
	segmentMagic   = 0x47455353 // "SSEG"
	segmentVersion = 1
	genAt          = 64
	genBytes       = 8
	headerAlign    = 4096

	atVersion = 4
	atSlots   = 8
	atClass   = 16
	atData    = 24
)

// segment is one mapped file of slots of one size.
type segment struct {
	name  string
	mem   []byte // the whole mapping
	base  uintptr
	data  int // where slot 0 begins
	class int // bytes of a slot
	slots []slot
	free  []int32 // indices of free slots, last out first
	holds int     // connections that hold the segment as a whole
	gone  bool    // unlinked; unmapped when the last slot is freed
}

// slot is the book-keeping of one slot; guarded by Shared.mu.
type slot struct {
	refs    int32
	account block.Account
}

// headerBytes is the room for the header of a segment of n slots.
func headerBytes(n int) int {
	return (genAt + n*genBytes + headerAlign - 1) / headerAlign * headerAlign
}

// newSegment lays out a mapping that is all zeroes.
func newSegment(name string, mem []byte, class, slots int) *segment {
	g := &segment{name: name, mem: mem, base: uintptr(unsafe.Pointer(&mem[0])), data: headerBytes(slots), class: class,
		slots: make([]slot, slots), free: make([]int32, slots)}
	for i := range g.free {
		g.free[i] = int32(slots - 1 - i)
	}
	le := binary.LittleEndian
	le.PutUint32(mem, segmentMagic)
	le.PutUint32(mem[atVersion:], segmentVersion)
	le.PutUint64(mem[atSlots:], uint64(slots))
	le.PutUint64(mem[atClass:], uint64(class))
	le.PutUint64(mem[atData:], uint64(g.data))
	return g
}

// generation points to the generation of a slot in the header: other processes read it.
func (g *segment) generation(i int) *uint64 {
	return (*uint64)(unsafe.Pointer(&g.mem[genAt+i*genBytes]))
}

func (g *segment) bytes(i int) []byte {
	at := g.data + i*g.class
	return g.mem[at : at+g.class : at+g.class]
}

// take gives a free slot its next generation and its first user.
func (g *segment) take(account block.Account) []byte {
	i := g.free[len(g.free)-1]
	g.free = g.free[:len(g.free)-1]
	g.slots[i] = slot{refs: 1, account: account}
	atomic.AddUint64(g.generation(int(i)), 1)
	return g.bytes(int(i))
}

// drop takes one user from a slot and reports whether it was the last, with the account to refund.
func (g *segment) drop(i int) (last bool, account block.Account) {
	s := &g.slots[i]
	if s.refs <= 0 {
		panic(fmt.Sprintf("shared memory: slot %d of %s was freed twice", i, g.name))
	}
	if s.refs--; s.refs > 0 {
		return false, nil
	}
	account = s.account
	s.account = nil
	atomic.AddUint64(g.generation(i), 1)
	g.free = append(g.free, int32(i))
	return true, account
}

// idle says whether nobody uses any of the segment.
func (g *segment) idle() bool { return len(g.free) == len(g.slots) && g.holds == 0 }

// slotAt returns the slot that an offset in the mapping lies in; ok is false for the header.
func (g *segment) slotAt(off int) (i int, ok bool) {
	if off < g.data || off >= g.data+len(g.slots)*g.class {
		return 0, false
	}
	return (off - g.data) / g.class, true
}

// Span says where bytes are, in a form that another process understands.
type Span struct {
	Segment    string `json:"segment"`    // the file's name in the folder of the store
	Offset     int64  `json:"offset"`     // from the start of the file
	Len        int64  `json:"len"`        // bytes
	Generation uint64 `json:"generation"` // of the slot; odd while it is in use
}
