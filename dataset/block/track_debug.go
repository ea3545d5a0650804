//go:build sluicedebug

package block

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
)

var live struct {
	sync.Mutex
	stacks map[*Block]string
}

func trackNew(b *Block) {
	live.Lock()
	defer live.Unlock()
	if live.stacks == nil {
		live.stacks = map[*Block]string{}
	}
	live.stacks[b] = string(debug.Stack())
}

func trackFree(b *Block) {
	live.Lock()
	defer live.Unlock()
	delete(live.stacks, b)
}

// Leaks describes every block that was made and not released, with the stack that made it.
func Leaks() string {
	live.Lock()
	defer live.Unlock()
	var s strings.Builder
	for b, stack := range live.stacks {
		fmt.Fprintf(&s, "block of %d rows, %d holders, made at:\n%s\n", b.rec.NumRows(), b.refs.Load(), stack)
	}
	return s.String()
}
