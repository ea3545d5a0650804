//go:build !linux

package nvml

import "github.com/sluice-data/sluice/gpu"

// Open gives gpu.ErrNoDriver: the library is looked for on Linux only.
func Open() (gpu.Devices, error) { return nil, gpu.ErrNoDriver }
