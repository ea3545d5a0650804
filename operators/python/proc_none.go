//go:build !unix

package python

import (
	"errors"
	"os"
)

func modules() []byte { return nil }

// startProc fails: this system has no socket pairs and no shared memory that we know.
func startProc(launch) (*proc, error) {
	return nil, errors.New("user functions in Python run on Linux and other Unix systems only")
}

func (p *proc) kill() {}

func exitText(*os.ProcessState) (text, class string) { return "the process ended", "process" }

func memoryOf(int) (int64, bool) { return 0, false }
