//go:build !unix

package child

import "errors"

// Maps are files of shared memory as a child sees them.
type Maps struct{}

// View fails: this system has no shared memory that we know.
func (*Maps) View(Place) ([]byte, error) {
	return nil, errors.New("map shared memory: this system has none that we know")
}

// Close does nothing.
func (*Maps) Close() error { return nil }
