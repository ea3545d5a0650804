// Package mem has what the reader and the writer share about memory: buffers
// that are not cleared first, and what a recovered panic means.
package mem

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Dirty allocates n bytes of any content, for callers that overwrite them all.
// Allocators that can leave the clearing out are asked to.
func Dirty(m memory.Allocator, n int) []byte {
	if d, ok := m.(interface{ AllocateDirty(size int) []byte }); ok {
		return d.AllocateDirty(n)
	}
	return m.Allocate(n)
}

// Panicked turns a recovered panic into an error. An allocator panics with an
// error when memory cannot be had or the task is cancelled: that error comes
// back as it is. Anything else is taken for damaged data, described by what.
func Panicked(p any, what string) error {
	if err, ok := p.(error); ok {
		if _, bug := errors.AsType[runtime.Error](err); !bug {
			return err
		}
	}
	return fmt.Errorf("%s: %v", what, p)
}
