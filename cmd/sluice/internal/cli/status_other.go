//go:build !unix

package cli

// catchStatus does nothing.
func (a *app) catchStatus() (stop func()) { return func() {} }

// watchStatus does nothing: the system has no such signal.
func (j *job) watchStatus() (stop func()) { return func() {} }
