//go:build !unix

package thumb

import (
	"os"
	"time"
)

// readable is never true: a terminal that cannot be polled is not asked.
func readable(*os.File, time.Duration) bool { return false }
