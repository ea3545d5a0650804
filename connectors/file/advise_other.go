//go:build !linux

package file

// adviseSequential does nothing where the system takes no such advice.
func adviseSequential(int, int64, int64) {}
