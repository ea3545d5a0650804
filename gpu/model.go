package gpu

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/sluice-data/sluice/dataset/block"
)

// Model is one model on one replica: a model of one server, or a session in this process. All methods are safe for concurrent use.
//
// Errors of Infer steer the stage: *dataset.TransientError means that the same request may succeed on another replica or later (After
// says when); *dataset.FatalError that no request can succeed (the model does not exist, the server forbids it); ErrRequest that this
// request is at fault and would fail anywhere; any other error is treated like ErrRequest after the replica was asked for its health.
type Model interface {
	// Info describes the model; the first call asks the engine, later ones answer from memory.
	Info(ctx context.Context) (*Info, error)
	// Alloc gives n bytes, 64-byte aligned, that the engine reads without a copy of ours: a slot of shared memory, or plain memory. They belong to the
	// caller until it passes them to Free, or until Infer took them as Data of an input. It waits while the replica's slots are in use.
	Alloc(ctx context.Context, n int) ([]byte, error)
	// Free gives bytes of Alloc back that no Infer has taken.
	Free([]byte)
	// Infer runs one request. Data of inputs made by Alloc is taken over, also when it fails; other data must stay as it is until Infer
	// returns. It returns early when ctx ends; memory that the engine may still touch is then kept aside until it cannot.
	Infer(ctx context.Context, req *Request) (*Response, error)
	// Healthy asks whether the replica can serve the model now.
	Healthy(ctx context.Context) error
	// Load tells how busy the replica is; ErrUnsupported where the engine cannot say.
	Load(ctx context.Context) (Load, error)
	// Close ends connections and frees memory; it waits for calls of Infer that are under way.
	Close() error
}

// Opener opens a model by its address, as in "triton://host:8001/resnet18" or "onnx:/models/resnet18.onnx"; it must not reach for
// the network: the first call of Info does.
type Opener func(address string, opts Options) (Model, error)

// Options are the same for every engine; each uses what applies to it.
type Options struct {
	Version   string        // of the model; empty means the engine's choice
	Timeout   time.Duration // of one request; zero means 60 s
	Threads   int           // of an in-process session; zero means 1
	Shared    bool          // shared memory where the engine offers it; falls back to inline, with the reason in Info.Notes
	SlotBytes int           // size of one slot of shared memory; zero means that it is derived from the first requests
	Slots     int           // requests in flight at most; zero means 16
	Token     string        // bearer token of the server; never logged
	TLS       bool          // use TLS
	// Memory is where Alloc and outputs of known size take memory that is not shared, and its account is charged for shared memory too; nil means
	// memory of the model's own that nobody counts.
	Memory *block.Allocator
	// Log takes what a process prints that the model runs in, and how it ended; nil drops it.
	Log *slog.Logger
}

// Prober is a Model that runs in this process, or in a child of it, and can tell what it computes with.
type Prober interface {
	// Probe runs a request and tells how many bytes were taken at most meanwhile, beside Info.Bytes and the tensors of the request. ErrUnsupported says that
	// they cannot be counted on this system.
	Probe(ctx context.Context, req *Request) (int64, error)
}

// Streamer is a Model whose decoupled models can hand out one response after another. Infer of such a model joins all of them along the first
// dimension.
type Streamer interface {
	// Stream runs one request; each response is released by the caller. It ends after the last one, or with an error as of Infer. Breaking out of the
	// loop cancels the request. Data of inputs is taken over as Infer does.
	Stream(ctx context.Context, req *Request) iter.Seq2[*Response, error]
}

// Info describes a model.
type Info struct {
	Name     string
	Version  string
	Platform string // as the engine calls it: "onnxruntime_onnx", "python"
	Inputs   []TensorInfo
	Outputs  []TensorInfo
	// MaxBatch is the largest first dimension; 0 when the shapes hold no batch dimension. Shapes below then start with it, as -1.
	MaxBatch int
	// Parallel is how many requests the replica works on at once, 0 when unknown.
	Parallel int
	// Decoupled models may give many responses to a request.
	Decoupled bool
	// Meta is what the model file says of itself (labels, alphabets).
	Meta map[string]string
	// Notes say what the user should know: "shared memory is off: the server refused it (…)".
	Notes []string
	// Bytes is what the model holds in this process (or its children), to be charged to the budget; 0 for servers.
	Bytes int64
}

// TensorInfo is the type of one input or output; -1 in Shape is any size.
type TensorInfo struct {
	Name  string
	Type  DataType
	Shape []int64
}

// Request is one call of a model. Inputs are given by name.
type Request struct {
	ID      string // for the engine's log; unique among those in flight
	Inputs  []Tensor
	Outputs []string // wanted; none means all
	// Parameters go to the engine as they are: bool, int64, string.
	Parameters map[string]any
	// OutputBytes tells how much room the outputs need when the model's shapes do not (0: unknown).
	OutputBytes int
}

// Response is what a model answered. Its tensors are valid until Release, which is called exactly once.
type Response struct {
	Outputs []Tensor
	release func()
}

// NewResponse makes a response; release frees what the tensors live in and may be nil.
func NewResponse(outputs []Tensor, release func()) *Response { return &Response{outputs, release} }

// Release frees the memory of the outputs.
func (r *Response) Release() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}

// Load is how busy a replica is.
type Load struct {
	Running, Waiting int
	// QueueTime and ComputeTime are means over the recent requests, 0 when unknown.
	QueueTime, ComputeTime time.Duration
}

// Errors that steer.
var (
	ErrRequest     = errors.New("the request is at fault")
	ErrUnsupported = errors.New("not offered by this engine")
)
