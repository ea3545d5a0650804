//go:build !unix

package cli

// watchStatus does nothing: the system has no such signal.
func (j *job) watchStatus() (stop func()) { return func() {} }
