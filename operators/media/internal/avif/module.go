package avif

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname

	_ "github.com/gen2brain/avif" // the compiled decoder
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// decodeWasm is the decoder, packed with gzip. The module that has it does not hand it out.
//
//go:linkname decodeWasm github.com/gen2brain/avif.decodeWasm
var decodeWasm []byte

// maxModuleBytes bounds the unpacked code; it has about 1 MB.
const maxModuleBytes = 64 << 20

type program struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
	least   int64 // of memory
	err     error
}

var load = sync.OnceValue(compile)

func compile() *program {
	ctx := context.Background()
	z, err := gzip.NewReader(bytes.NewReader(decodeWasm))
	if err != nil {
		return &program{err: fmt.Errorf("unpack the AVIF decoder: %w", err)}
	}
	code, err := io.ReadAll(io.LimitReader(z, maxModuleBytes))
	if err != nil {
		return &program{err: fmt.Errorf("unpack the AVIF decoder: %w", err)}
	}
	p := &program{runtime: wazero.NewRuntime(ctx)}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, p.runtime); err != nil {
		return &program{err: fmt.Errorf("start the AVIF decoder: %w", err)}
	}
	if p.code, err = p.runtime.CompileModule(ctx, code); err != nil {
		return &program{err: fmt.Errorf("compile the AVIF decoder: %w", err)}
	}
	for _, m := range p.code.ExportedMemories() {
		p.least = int64(m.Min()) << 16
	}
	return p
}

// Sandbox is memory for decoding, kept from file to file. It belongs to one goroutine.
type Sandbox struct {
	buf   []byte
	limit uint64
	used  int // high-water mark of buf: what has to be zeroed
}

var _ experimental.MemoryAllocator = (*Sandbox)(nil)

// Bytes is the memory held.
func (s *Sandbox) Bytes() int { return cap(s.buf) }

// begin makes room for n bytes, all zero.
func (s *Sandbox) begin(n int64) {
	if int64(cap(s.buf)) < n {
		s.buf = make([]byte, n)
	} else {
		s.buf = s.buf[:cap(s.buf)]
		clear(s.buf[:s.used])
	}
	s.used, s.limit = 0, uint64(n)
}

// expire ends what runs in the sandbox when its time is over, and returns the function that calls that off; it says whether it came too late. A runtime that
// can interrupt code checks at every turn of every loop whether it is to, which takes two thirds of the speed. So the memory is overwritten instead, with addresses that
// are outside of it: the next access is a fault, of the module alone.
func (s *Sandbox) expire(after time.Duration) (off func() (expired bool)) {
	var over atomic.Bool
	done := make(chan struct{})
	timer := time.AfterFunc(after, func() {
		defer close(done)
		for !over.Load() {
			for i := range s.buf[:s.limit] {
				s.buf[i] = 0xff
			}
			time.Sleep(time.Millisecond)
		}
		s.used = int(s.limit)
	})
	return func() bool {
		over.Store(true)
		if timer.Stop() {
			return false
		}
		<-done
		return true
	}
}

// Allocate implements experimental.MemoryAllocator: the whole linear memory of a module lies in the sandbox, which does not grow.
func (s *Sandbox) Allocate(_, _ uint64) experimental.LinearMemory { return (*linear)(s) }

type linear Sandbox

// Reallocate implements experimental.LinearMemory; nil refuses.
func (l *linear) Reallocate(size uint64) []byte {
	if size > l.limit {
		return nil
	}
	l.used = max(l.used, int(size))
	return l.buf[:size:size]
}

// Free implements experimental.LinearMemory: the sandbox keeps its memory for the next file.
func (*linear) Free() {}

// Peak is how much of its memory the last file took.
func (s *Sandbox) Peak() int { return s.used }
