// Package nvml describes NVIDIA GPUs through the driver's own library, loaded at run time without cgo. It calls nothing unless the library was found and has
// started, and reads only: it changes no setting of any device.
package nvml
