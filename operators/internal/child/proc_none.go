//go:build !unix

package child

import (
	"errors"
	"os"
)

// Start fails: this system has no socket pairs and no shared memory that we know.
func Start(Launch) (*Proc, error) {
	return nil, errors.New("child processes run on Linux and other Unix systems only")
}

func (p *Proc) kill() {}

func exitText(*os.ProcessState) (text, class string) { return "the process ended", "process" }

// MemoryOf is not known here.
func MemoryOf(int) (int64, bool) { return 0, false }

// PrivateOf is not known here.
func PrivateOf(int) (int64, bool) { return 0, false }
