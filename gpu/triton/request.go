package triton

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/sluice-data/sluice/gpu"
)

const (
	// worthSharing is the size from which a tensor goes through shared memory: below it the parameters cost as much as the bytes.
	worthSharing = 4 << 10

	// headRoom holds all of a usual request but its bytes.
	headRoom = 512

	// forgetPart is the share of an output's largest size that each smaller answer takes off.
	forgetPart = 32

	paramRegion = "shared_memory_region"
	paramSize   = "shared_memory_byte_size"
	paramOffset = "shared_memory_offset"
	paramFinal  = "triton_enable_empty_final_response"
	paramIsLast = "triton_final_response"
	paramLimit  = "timeout"
)

// call is one request on its way: the message, the slots that it owns, and where its outputs are expected.
type call struct {
	msg     message
	inputs  [][]byte // the caller's, of Alloc
	rooms   [][]byte // made for inputs
	outputs map[string][]byte
	epoch   int  // the life of the server that the places are of
	shares  bool // the server was told of a slot
	limited bool // the caller gave the server a time limit
}

// owned lists all slots of the call.
func (c *call) owned() [][]byte {
	list := slices.Concat(c.inputs, c.rooms)
	for _, b := range c.outputs {
		list = append(list, b)
	}
	return list
}

// freeCall frees all slots of a call that the server does not touch.
func (m *Model) freeCall(c *call) {
	for _, b := range c.owned() {
		m.slots.free(b)
	}
}

// freeMade frees what was made for one try of a call; the next makes its own.
func (m *Model) freeMade(c *call) {
	c.inputs = nil
	m.freeCall(c)
}

// freeInputs frees what the caller handed over with a request that was not sent.
func (m *Model) freeInputs(req *gpu.Request) {
	for _, t := range req.Inputs {
		if m.slots.owned(t.Data) {
			m.slots.free(t.Data)
		}
	}
}

// check refuses what the server would refuse, or worse, misread.
func (m *Model) check(d *details, req *gpu.Request) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("ask model %s: %s: %w", m.name, fmt.Sprintf(format, a...), gpu.ErrRequest)
	}
	total := 0
	for i := range req.Inputs {
		t := &req.Inputs[i]
		if err := t.Check(); err != nil {
			return fmt.Errorf("ask model %s: %w: %w", m.name, err, gpu.ErrRequest)
		}
		total += len(t.Data) + gpu.PackedLen(t.Strings)
		if len(d.info.Inputs) == 0 {
			continue
		}
		at := slices.IndexFunc(d.info.Inputs, func(x gpu.TensorInfo) bool { return x.Name == t.Name })
		if at < 0 {
			return bad("there is no input %q (there is %s)", t.Name, names(d.info.Inputs))
		}
		if want := d.info.Inputs[at].Type; want != t.Type {
			return bad("input %q is %s, the model takes %s", t.Name, t.Type, want)
		}
	}
	if d.info.MaxBatch > 0 && len(req.Inputs) > 0 && len(req.Inputs[0].Shape) > 0 && req.Inputs[0].Shape[0] > int64(d.info.MaxBatch) {
		return bad("a batch of %d, the model takes %d at most", req.Inputs[0].Shape[0], d.info.MaxBatch)
	}
	for _, name := range req.Outputs {
		if len(d.info.Outputs) > 0 && !slices.ContainsFunc(d.info.Outputs, func(x gpu.TensorInfo) bool { return x.Name == name }) {
			return bad("there is no output %q (there is %s)", name, names(d.info.Outputs))
		}
	}
	for k, v := range req.Parameters {
		if err := checkParameter(k, v); err != nil {
			return bad("parameter %q: %v", k, err)
		}
	}
	return nil
}

func names(list []gpu.TensorInfo) string {
	s := ""
	for i, t := range list {
		if i > 0 {
			s += ", "
		}
		s += t.Name
	}
	return s
}

// compose makes the message. Inputs in shared memory are named by their place; the others' bytes are listed in their order. The slots of req are the
// call's from here on.
func (m *Model) compose(ctx context.Context, d *details, req *gpu.Request) (*call, error) {
	c := &call{epoch: m.regions.epoch(), outputs: map[string][]byte{}}
	for _, t := range req.Inputs {
		if m.slots.owned(t.Data) {
			c.inputs = append(c.inputs, t.Data)
		}
	}
	c.limited = req.Parameters[paramLimit] != nil
	c.msg.head = make([]byte, 0, headRoom)
	c.msg.text(fieldModelName, m.name)
	c.msg.text(fieldModelVersion, m.version)
	c.msg.text(fieldID, req.ID)
	for k, v := range req.Parameters {
		c.msg.parameter(k, v)
	}
	for i := range req.Inputs {
		if err := m.addInput(ctx, c, &req.Inputs[i]); err != nil {
			return c, err
		}
	}
	if err := m.addOutputs(ctx, c, d, req); err != nil {
		return c, err
	}
	return c, nil
}

func (m *Model) addInput(ctx context.Context, c *call, t *gpu.Tensor) error {
	data := t.Data
	if t.Type == gpu.Bytes {
		n := gpu.PackedLen(t.Strings)
		var room []byte
		if n >= worthSharing {
			if room = m.slots.output(n); room != nil {
				c.rooms = append(c.rooms, room)
			}
		}
		data = gpu.PackStrings(room[:0], t.Strings)
	}
	at, ok, err := m.regions.locate(ctx, data)
	if err != nil {
		return err
	}
	if ok {
		c.msg.input(t, &at)
		c.shares = true
		return nil
	}
	c.msg.input(t, nil)
	c.msg.raw = append(c.msg.raw, data)
	return nil
}

// addOutputs asks for outputs by name, with a slot for each whose size is known and worth it.
func (m *Model) addOutputs(ctx context.Context, c *call, d *details, req *gpu.Request) error {
	want := req.Outputs
	if len(want) == 0 && m.slots.shared() != nil && !d.info.Decoupled { // to have one in a slot, all have to be named
		for _, t := range d.info.Outputs {
			want = append(want, t.Name)
		}
	}
	for _, name := range want {
		at, err := m.placeOutput(ctx, c, d, req, name)
		if err != nil {
			return err
		}
		c.msg.output(name, at)
	}
	return nil
}

// placeOutput finds a slot for an output; nil without an error says that it comes inline.
func (m *Model) placeOutput(ctx context.Context, c *call, d *details, req *gpu.Request, name string) (*sharedRegion, error) {
	n := m.sizes.expect(d, req, name)
	if n < worthSharing || d.info.Decoupled {
		return nil, nil
	}
	room := m.slots.output(n)
	if room == nil {
		return nil, nil
	}
	at, ok, err := m.regions.locate(ctx, room)
	if !ok || err != nil {
		m.slots.free(room)
		return nil, err
	}
	c.outputs[name] = room
	c.shares = true
	return &at, nil
}

func checkParameter(key string, v any) error {
	switch v := v.(type) {
	case bool, int64:
	case string:
		if !utf8.ValidString(v) {
			return fmt.Errorf("%q is not UTF-8", v)
		}
	default:
		return fmt.Errorf("%T cannot be sent: bool, int64 and string can", v)
	}
	if !utf8.ValidString(key) {
		return errors.New("its name is not UTF-8")
	}
	return nil
}

// sizes remembers how many bytes outputs took in one row, where their shapes do not tell.
type sizes struct {
	mu   sync.Mutex
	seen map[string]int
}

// expect guesses the bytes of an output; 0 means that it is sent inline.
func (s *sizes) expect(d *details, req *gpu.Request, name string) int {
	at := slices.IndexFunc(d.info.Outputs, func(x gpu.TensorInfo) bool { return x.Name == name })
	if at < 0 || d.info.Outputs[at].Type.Size() == 0 {
		return 0
	}
	out := d.info.Outputs[at]
	rows := rowsOf(d, req)
	n, known := int64(out.Type.Size()), true
	for i, x := range out.Shape {
		switch {
		case i == 0 && d.info.MaxBatch > 0:
			n *= rows
		case x < 0:
			known = false
		default:
			n *= x
		}
		if n > messageLimit {
			return 0
		}
	}
	if known {
		return int(n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.seen[name]; b > 0 && int64(b)*rows <= messageLimit {
		return b * int(rows)
	}
	if len(d.info.Outputs) == 1 {
		return req.OutputBytes
	}
	return 0
}

// learn notes the size of an output that was answered.
func (s *sizes) learn(d *details, req *gpu.Request, name string, bytes int) {
	rows := int(max(rowsOf(d, req), 1))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	before := s.seen[name]
	s.seen[name] = max((bytes+rows-1)/rows, before-before/forgetPart) // one huge answer is not reserved for ever
}

func rowsOf(d *details, req *gpu.Request) int64 {
	if d.info.MaxBatch > 0 && len(req.Inputs) > 0 && len(req.Inputs[0].Shape) > 0 {
		return req.Inputs[0].Shape[0]
	}
	return 1
}
