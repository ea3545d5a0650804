package isolate

import (
	"fmt"
	"time"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// modelOrder is a message to a child that runs a model; Op says which of the others count. Orders and reports of one request have its ID.
type modelOrder struct {
	Op string `json:"op"`
	ID int64  `json:"id,omitempty"`
	// open
	Address string        `json:"address,omitempty"`
	Version string        `json:"version,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Threads int           `json:"threads,omitempty"`
	// infer; Out is where outputs go if they fit
	Request string       `json:"request,omitempty"`
	Inputs  []placed     `json:"inputs,omitempty"`
	Outputs []string     `json:"outputs,omitempty"`
	Out     *child.Place `json:"out,omitempty"` // room
	// room: why there is none
	Fault *fault `json:"fault,omitempty"`
}

// The orders to a child that runs a model.
const (
	modelInfer  = "infer"
	modelProbe  = "probe" // as infer; the answer is Len
	modelRoom   = "room"  // answers modelNeedRoom
	modelCancel = "cancel"
)

// placed is a tensor whose contents lie in shared memory: numbers as they are, strings as gpu.PackStrings writes them. In reports the place is
// relative to the room for the outputs.
type placed struct {
	Name  string       `json:"name"`
	Type  gpu.DataType `json:"type"`
	Shape []int64      `json:"shape"`
	At    child.Place  `json:"at"`
}

// modelReport is a message of a child that runs a model.
type modelReport struct {
	Op string `json:"op"`
	ID int64  `json:"id,omitempty"`
	// opened
	Info *gpu.Info `json:"info,omitempty"`
	// needRoom, answered to a probe
	Len int64 `json:"len,omitempty"`
	// answered
	Outputs []placed `json:"outputs,omitempty"`
	// opened, answered: why not
	Fault *fault `json:"fault,omitempty"`
}

// The reports of a child that runs a model.
const (
	modelOpened   = "opened"
	modelNeedRoom = "need room"
	modelAnswered = "answered"
)

// contentBytes is how much room the contents of a tensor take.
func contentBytes(t *gpu.Tensor) int {
	if t.Type == gpu.Bytes {
		return gpu.PackedLen(t.Strings)
	}
	return len(t.Data)
}

// putContent writes the contents of a tensor to dst, which is as long as contentBytes says.
func putContent(dst []byte, t *gpu.Tensor) {
	if t.Type == gpu.Bytes {
		gpu.PackStrings(dst[:0], t.Strings)
		return
	}
	copy(dst, t.Data)
}

// view makes a tensor of the bytes that are its contents.
func (p *placed) view(b []byte) (gpu.Tensor, error) {
	t := gpu.Tensor{Name: p.Name, Type: p.Type, Shape: p.Shape}
	if p.Type != gpu.Bytes {
		t.Data = b
		return t, t.Check()
	}
	n := t.Len()
	if n < 0 {
		return t, fmt.Errorf("read tensor %s: negative size in shape %v", t.Name, t.Shape)
	}
	var err error
	if t.Strings, err = gpu.UnpackStrings(b, n); err != nil {
		return t, fmt.Errorf("read tensor %s: %w", t.Name, err)
	}
	return t, t.Check()
}

// roomAlign is what outputs begin at in their room: tensors are viewed in place.
const roomAlign = 64

func alignRoom(n int) int { return (n + roomAlign - 1) &^ (roomAlign - 1) }
