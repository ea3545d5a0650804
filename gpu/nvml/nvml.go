//go:build linux

package nvml

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/sluice-data/sluice/gpu"
)

// names are what the driver's library is called.
var names = []string{"libnvidia-ml.so.1", "libnvidia-ml.so"}

// What the calls of nvml.h return and take.
const (
	success      = 0
	noPermission = 4
	notSupported = 3
	textBytes    = 96 // names, UUIDs and versions are shorter
	unknownBusy  = -1
)

type (
	handle uintptr
	memory struct{ total, free, used uint64 }
	rates  struct{ gpu, memory uint32 }
)

// library is the driver's library and the functions that are used.
type library struct {
	mu     sync.Mutex
	closed bool

	initialize func() int32
	shutdown   func() int32
	describe   func(int32) string
	driver     func(*byte, uint32) int32
	count      func(*uint32) int32
	byIndex    func(uint32, *handle) int32
	name       func(handle, *byte, uint32) int32
	uuid       func(handle, *byte, uint32) int32
	memory     func(handle, *memory) int32
	busy       func(handle, *rates) int32
}

var _ gpu.Devices = (*library)(nil)

// Open loads the driver's library and starts it. The error is gpu.ErrNoDriver where there is none.
func Open() (gpu.Devices, error) { return open(names) }

func open(names []string) (gpu.Devices, error) {
	lib, err := load(names)
	if err != nil {
		return nil, err
	}
	l := &library{}
	if err := l.bind(lib); err != nil {
		return nil, err
	}
	if rc := l.initialize(); rc != success {
		return nil, l.failure("start the GPU driver's library", rc)
	}
	return l, nil
}

func load(names []string) (uintptr, error) {
	var errs []error
	for _, n := range names {
		lib, err := purego.Dlopen(n, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return lib, nil
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("%w (%w)", gpu.ErrNoDriver, errors.Join(errs...))
}

// bind finds the functions; a library that lacks one is of another make.
func (l *library) bind(lib uintptr) error {
	for _, f := range []struct {
		to   any
		name string
	}{
		{&l.initialize, "nvmlInit_v2"}, {&l.shutdown, "nvmlShutdown"}, {&l.describe, "nvmlErrorString"}, {&l.driver, "nvmlSystemGetDriverVersion"},
		{&l.count, "nvmlDeviceGetCount_v2"}, {&l.byIndex, "nvmlDeviceGetHandleByIndex_v2"}, {&l.name, "nvmlDeviceGetName"}, {&l.uuid, "nvmlDeviceGetUUID"},
		{&l.memory, "nvmlDeviceGetMemoryInfo"}, {&l.busy, "nvmlDeviceGetUtilizationRates"},
	} {
		at, err := purego.Dlsym(lib, f.name)
		if err != nil {
			return fmt.Errorf("use the GPU driver's library: it has no %s: %w", f.name, err)
		}
		purego.RegisterFunc(f.to, at)
	}
	return nil
}

func (l *library) failure(doing string, rc int32) error {
	return fmt.Errorf("%s: %s (%d)", doing, l.describe(rc), rc)
}

// List implements gpu.Devices.
func (l *library) List() ([]gpu.Device, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("list GPUs: the driver's library is closed")
	}
	driver, err := text(l.driver)
	if err != nil {
		return nil, err
	}
	var n uint32
	if rc := l.count(&n); rc != success {
		return nil, l.failure("count GPUs", rc)
	}
	var out []gpu.Device
	for i := range n {
		d, err := l.device(i)
		if err != nil {
			return out, err
		}
		d.Driver = driver
		out = append(out, d)
	}
	return out, nil
}

// device describes one GPU. What the driver does not tell of it stays zero.
func (l *library) device(i uint32) (gpu.Device, error) {
	d := gpu.Device{Index: int(i), Busy: unknownBusy}
	var h handle
	if rc := l.byIndex(i, &h); rc != success {
		return d, l.failure(fmt.Sprintf("find GPU %d", i), rc)
	}
	var err error
	of := func(f func(handle, *byte, uint32) int32) func(*byte, uint32) int32 {
		return func(p *byte, n uint32) int32 { return f(h, p, n) }
	}
	if d.Name, err = text(of(l.name)); err != nil {
		return d, fmt.Errorf("name GPU %d: %w", i, err)
	}
	if d.UUID, err = text(of(l.uuid)); err != nil {
		return d, fmt.Errorf("name GPU %d: %w", i, err)
	}
	var m memory
	if rc := l.memory(h, &m); rc == success {
		d.MemoryBytes, d.FreeBytes = int64(m.total), int64(m.free)
	} else if rc != notSupported && rc != noPermission {
		return d, l.failure(fmt.Sprintf("ask for the memory of GPU %d", i), rc)
	}
	var r rates
	if l.busy(h, &r) == success { // one that is cut into instances does not tell
		d.Busy = float64(r.gpu) / 100
	}
	return d, nil
}

// text has a function fill in a string.
func text(f func(*byte, uint32) int32) (string, error) {
	var buf [textBytes]byte
	if rc := f(&buf[0], textBytes); rc != success {
		return "", fmt.Errorf("ask the GPU driver for a name: error %d", rc)
	}
	s, _, _ := bytes.Cut(buf[:], []byte{0})
	return string(s), nil
}

// Close implements gpu.Devices.
func (l *library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if rc := l.shutdown(); rc != success {
		return l.failure("stop the GPU driver's library", rc)
	}
	return nil
}
