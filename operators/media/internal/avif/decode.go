package avif

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Errors of files, for errors.Is.
var (
	ErrDecode = errors.New("the decoder gave up")
	ErrMemory = errors.New("the decoder needs more memory than was reserved for it")
	ErrTime   = errors.New("the decoder took too long")
)

// ModuleBytes is what stack, tables and the smallest pictures take of the memory.
const ModuleBytes = 6 << 20

// Job is a file to be decoded.
type Job struct {
	Data  []byte
	All   bool  // every picture of a sequence, not only the first
	Bytes int64 // linear memory for it
	Time  time.Duration
	// W, H and Frames are what the file is known to have; a decoder that finds anything else is not trusted.
	W, H, Frames int
}

// Pictures are the result: pixels of 4 channels, 8 bits or 16 bits in little-endian order, colours multiplied by alpha. They lie in the sandbox until its next
// file.
type Pictures struct {
	W, H, Depth int
	Seconds     []float64 // how long each is shown
	pix         []byte
	size        int
}

// Len is the number of pictures.
func (p *Pictures) Len() int { return len(p.Seconds) }

// Pix returns the pixels of picture i, without padding.
func (p *Pictures) Pix(i int) []byte { return p.pix[i*p.size:][:p.size:p.size] }

// Decode decodes a file. Of a sequence that breaks off the pictures before are returned beside the error.
func (s *Sandbox) Decode(job Job) (_ *Pictures, err error) {
	p := load()
	if p.err != nil {
		return nil, p.err
	}
	if job.Bytes < p.least {
		return nil, fmt.Errorf("%w: it has %d bytes and needs %d to begin", ErrMemory, job.Bytes, p.least)
	}
	s.begin(job.Bytes)
	ctx := context.Background()
	off := s.expire(job.Time)
	mod, err := p.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, s), p.code, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	var pics *Pictures
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrMemory, err)
	} else {
		c := &call{ctx: ctx, mod: mod}
		pics, err = c.decode(job)
	}
	expired := off()
	if mod != nil {
		_ = mod.Close(ctx) // nothing of it is kept
	}
	if expired {
		return nil, fmt.Errorf("%w, more than %v", ErrTime, job.Time)
	}
	return pics, err
}

// call is one file in a module.
type call struct {
	ctx context.Context
	mod api.Module
}

// alloc asks for n zeroed bytes.
func (c *call) alloc(n int64) (uint32, error) {
	if n > math.MaxInt32 {
		return 0, fmt.Errorf("%w: a piece of %d bytes", ErrMemory, n)
	}
	at, err := c.invoke("malloc", uint64(n))
	if err != nil {
		return 0, err
	}
	if at == 0 {
		return 0, fmt.Errorf("%w: no room for %d bytes", ErrMemory, n)
	}
	return uint32(at), nil
}

func (c *call) invoke(name string, args ...uint64) (uint64, error) {
	f := c.mod.ExportedFunction(name)
	if f == nil {
		return 0, fmt.Errorf("the AVIF decoder has no function %q", name)
	}
	res, err := f.Call(c.ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("%w: %v", ErrDecode, firstLine(err))
	}
	if len(res) == 0 {
		return 0, nil
	}
	return res[0], nil
}

// firstLine leaves out the stack of the module.
func firstLine(err error) string {
	for i, r := range err.Error() {
		if r == '\n' {
			return err.Error()[:i]
		}
	}
	return err.Error()
}

func (c *call) decode(job Job) (*Pictures, error) {
	mem := c.mod.Memory()
	in, err := c.alloc(int64(len(job.Data)))
	if err != nil {
		return nil, err
	}
	head, err := c.alloc(16)
	if err != nil {
		return nil, err
	}
	if !mem.Write(in, job.Data) {
		return nil, ErrDecode
	}
	args := []uint64{uint64(in), uint64(len(job.Data)), 1, 0, uint64(head), uint64(head) + 4, uint64(head) + 8, uint64(head) + 12, 0, 0}
	if ok, err := c.invoke("decode", args...); err != nil || ok == 0 {
		return nil, errors.Join(ErrDecode, err)
	}
	info, ok := mem.Read(head, 16)
	if !ok {
		return nil, ErrDecode
	}
	w, h := binary.LittleEndian.Uint32(info), binary.LittleEndian.Uint32(info[4:])
	depth, count := binary.LittleEndian.Uint32(info[8:]), int(binary.LittleEndian.Uint32(info[12:]))
	if int64(w) != int64(job.W) || int64(h) != int64(job.H) || job.All && count != job.Frames {
		return nil, fmt.Errorf("%w: it found %d pictures of %dx%d, the file announces %d of %dx%d", ErrDecode, count, w, h, job.Frames, job.W, job.H)
	}
	if !job.All {
		count = 1
	}
	out := &Pictures{W: job.W, H: job.H, Depth: 8, size: job.W * job.H * 4}
	if depth > 8 {
		out.Depth, out.size = 16, out.size*2
	}
	pix, err := c.alloc(int64(out.size) * int64(count))
	if err != nil {
		return nil, err
	}
	times, err := c.alloc(int64(count) * 8)
	if err != nil {
		return nil, err
	}
	for i := range count { // a picture that was decoded has its time, one that was not keeps this
		mem.WriteUint64Le(times+uint32(i)*8, math.Float64bits(math.NaN()))
	}
	args[2], args[8], args[9] = 0, uint64(times), uint64(pix)
	if job.All {
		args[3] = 1
	}
	if ok, err := c.invoke("decode", args...); err != nil || ok == 0 {
		return nil, errors.Join(ErrDecode, err)
	}
	for i := range count {
		bits, _ := mem.ReadUint64Le(times + uint32(i)*8)
		t := math.Float64frombits(bits)
		if math.IsNaN(t) {
			break
		}
		out.Seconds = append(out.Seconds, t)
	}
	if out.pix, ok = mem.Read(pix, uint32(out.size*count)); !ok {
		return nil, ErrDecode
	}
	if out.Len() < count {
		return out, fmt.Errorf("%w at picture %d of %d", ErrDecode, out.Len(), count)
	}
	return out, nil
}
