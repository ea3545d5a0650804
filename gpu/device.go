package gpu

import "errors"

// Device is one GPU, as its driver describes it.
type Device struct {
	Index       int
	UUID        string // what leases name: indices change
	Name        string
	Driver      string
	MemoryBytes int64
	FreeBytes   int64
	// Busy is the share of the last sampling period in which a kernel ran, 0 to 1; it says nothing of how much of the device it used. Below 0 it is
	// not known.
	Busy float64
}

// Devices tells of the GPUs of this machine.
type Devices interface {
	// List describes the GPUs that are there now.
	List() ([]Device, error)
	// Close lets the driver go.
	Close() error
}

// ErrNoDriver says that this machine has no driver for GPUs.
var ErrNoDriver = errors.New("no GPU driver is installed")
