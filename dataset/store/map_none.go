//go:build !unix

package store

import (
	"errors"
	"os"
)

var errNone = errors.New("shared memory is not offered on this system; leave it off")

// DefaultDir is the folder for temporary files.
func DefaultDir() string { return os.TempDir() }

func createMapped(string, string, int64) ([]byte, error) { return nil, errNone }
func unmap([]byte)                                       {}
func tryLock(*os.File) (bool, error)                     { return false, errNone }
func freeBytes(string) (int64, error)                    { return 0, errNone }
