//go:build onnx && cgo

package onnx

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	ort "github.com/yalue/onnxruntime_go"
	"github.com/zeebo/blake3"

	"github.com/sluice-data/sluice/gpu"
)

func built() error { return nil }

// environment loads the library, once a process; it is never unloaded.
var environment = sync.OnceValue(func() error {
	lib, err := Library()
	if err != nil {
		return err
	}
	ort.SetSharedLibraryPath(lib)
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		return fmt.Errorf("load ONNX Runtime from %s: %w", lib, err)
	}
	return nil
})

// loadedVersion loads the library and asks it.
func loadedVersion() (string, error) {
	if err := environment(); err != nil {
		return "", err
	}
	return ort.GetVersion(), nil
}

// key tells sessions apart.
type key struct {
	path    string
	size    int64
	changed time.Time
	threads int
}

// loaded are the sessions in use.
var loaded struct {
	sync.Mutex
	sessions map[key]*session
}

// session is one file that is loaded.
type session struct {
	key
	refs int

	once sync.Once
	err  error
	info gpu.Info
	run  *ort.DynamicAdvancedSession
}

// model is one opening of a session.
type model struct {
	*session
	timeout time.Duration
	runs    sync.WaitGroup
	slots   slots
}

var _ gpu.Model = (*model)(nil)

func open(path string, st os.FileInfo, opts gpu.Options) gpu.Model {
	if opts.Threads <= 0 {
		opts.Threads = 1
	}
	if opts.Timeout <= 0 {
		opts.Timeout = time.Minute
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	k := key{path, st.Size(), st.ModTime(), opts.Threads}
	loaded.Lock()
	defer loaded.Unlock()
	s := loaded.sessions[k]
	if s == nil {
		s = &session{key: k}
		if loaded.sessions == nil {
			loaded.sessions = map[key]*session{}
		}
		loaded.sessions[k] = s
	}
	s.refs++
	return &model{session: s, timeout: opts.Timeout, slots: newSlots(opts.Memory)}
}

// Close implements gpu.Model.
func (m *model) Close() error {
	m.runs.Wait()
	m.slots.close()
	loaded.Lock()
	defer loaded.Unlock()
	if m.refs--; m.refs > 0 {
		return nil
	}
	delete(loaded.sessions, m.key)
	if m.run == nil {
		return nil
	}
	return m.run.Destroy()
}

// Info implements gpu.Model: the first call loads the file.
func (m *model) Info(context.Context) (*gpu.Info, error) {
	m.once.Do(func() { m.err = m.load() })
	if m.err != nil {
		return nil, m.err
	}
	return &m.info, nil
}

func (s *session) load() error {
	if err := environment(); err != nil {
		return err
	}
	opts, err := ort.NewSessionOptions()
	if err != nil {
		return fmt.Errorf("load model: %w", err)
	}
	defer opts.Destroy()
	in, out, err := ort.GetInputOutputInfo(s.path)
	if err != nil {
		return fmt.Errorf("load model %s: %w", s.path, err)
	}
	if err := s.describe(in, out); err != nil {
		return fmt.Errorf("load model %s: %w", s.path, err)
	}
	err = errors.Join(opts.SetIntraOpNumThreads(s.threads), opts.SetInterOpNumThreads(1), s.patterns(opts))
	if err != nil {
		return fmt.Errorf("load model %s: %w", s.path, err)
	}
	s.accelerate(opts)
	probing.Lock()
	defer probing.Unlock()
	before, counted := allocated()
	if s.run, err = ort.NewDynamicAdvancedSession(s.path, names(s.info.Inputs), names(s.info.Outputs), opts); err != nil {
		return fmt.Errorf("load model %s: %w", s.path, err)
	}
	if after, _ := allocated(); counted {
		s.info.Bytes = max(after-before, s.size) + overhead
	}
	return s.readMeta()
}

// patterns turns off what keeps a plan of memory for each shape seen before, in models whose shapes vary: it would hold the most of each. The arena stays: what is
// computed with is reserved for as long as the model is open, and without it pieces of all sizes leave twice as much of the C library's heap in use.
func (s *session) patterns(opts *ort.SessionOptions) error {
	for _, t := range s.info.Inputs {
		for i, d := range t.Shape {
			if d < 0 && (i > 0 || s.info.MaxBatch == 0) {
				return opts.SetMemPattern(false)
			}
		}
	}
	return nil
}

func names(ts []gpu.TensorInfo) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.Name
	}
	return out
}

// manyRows is the batch of models whose first dimension is free: they have no limit of their own.
const manyRows = 1 << 16

// overhead is what a session takes beyond its weights: the library itself, and what is not counted of small pieces. Where nothing can be counted, weights are
// taken to be held twice, as read and as arranged for the processor.
const overhead = 16 << 20

// describe fills in the model's inputs and outputs.
func (s *session) describe(in, out []ort.InputOutputInfo) error {
	free := len(in) > 0
	list := func(io []ort.InputOutputInfo) ([]gpu.TensorInfo, error) {
		var ts []gpu.TensorInfo
		for _, x := range io {
			t, ok := types[x.DataType]
			if !ok || x.OrtValueType != ort.ONNXTypeTensor {
				return nil, fmt.Errorf("%q is %s of %s, which is not supported", x.Name, x.OrtValueType, x.DataType)
			}
			shape := make([]int64, len(x.Dimensions))
			for i, d := range x.Dimensions {
				shape[i] = max(d, -1)
				if d == 0 {
					shape[i] = -1
				}
			}
			free = free && len(shape) > 0 && shape[0] < 0
			ts = append(ts, gpu.TensorInfo{Name: x.Name, Type: t, Shape: shape})
		}
		return ts, nil
	}
	var err error
	if s.info.Inputs, err = list(in); err != nil {
		return err
	}
	if s.info.Outputs, err = list(out); err != nil {
		return err
	}
	if free {
		s.info.MaxBatch = manyRows
	}
	s.info.Name = filepath.Base(s.path)
	s.info.Platform = "onnxruntime_onnx"
	s.info.Parallel = max(1, runtime.GOMAXPROCS(0)/s.threads)
	s.info.Bytes = 2*s.size + overhead
	s.info.Version, err = contentOf(s.path)
	return err
}

// contentOf names a file by its bytes.
func contentOf(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the model that the user named
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := blake3.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// readMeta copies what the model says of itself.
func (s *session) readMeta() error {
	md, err := s.run.GetModelMetadata()
	if err != nil {
		return fmt.Errorf("read metadata of %s: %w", s.path, err)
	}
	defer md.Destroy()
	keys, err := md.GetCustomMetadataMapKeys()
	if err != nil {
		return fmt.Errorf("read metadata of %s: %w", s.path, err)
	}
	s.info.Meta = make(map[string]string, len(keys))
	for _, k := range keys {
		v, _, err := md.LookupCustomMetadataMap(k)
		if err != nil {
			return fmt.Errorf("read metadata of %s: %w", s.path, err)
		}
		s.info.Meta[k] = v
	}
	return nil
}

// accelerate adds the CUDA provider where the library has one and the machine a device.
func (s *session) accelerate(opts *ort.SessionOptions) {
	lib, err := Library()
	if err != nil {
		return
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(lib), "libonnxruntime_providers_cuda.so")); err != nil {
		return
	}
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		return
	}
	cuda, err := ort.NewCUDAProviderOptions()
	if err == nil {
		defer cuda.Destroy()
		err = opts.AppendExecutionProviderCUDA(cuda)
	}
	if err != nil {
		s.info.Notes = append(s.info.Notes, fmt.Sprintf("it runs on the CPU: the CUDA provider beside %s does not start: %v", lib, err))
		return
	}
	s.info.Platform = "onnxruntime_onnx on CUDA"
}

// Healthy implements gpu.Model.
func (m *model) Healthy(ctx context.Context) error { return ctx.Err() }

// Load implements gpu.Model.
func (*model) Load(context.Context) (gpu.Load, error) { return gpu.Load{}, gpu.ErrUnsupported }
