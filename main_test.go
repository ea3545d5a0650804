package sluice_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a goroutine outlives its run, and in debug builds when a block does.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(checked{m})
}

// liveBlocks describes the blocks that nobody released; debug builds know them.
var liveBlocks = func() string { return "" }

type checked struct{ m *testing.M }

// Run runs the tests and looks for blocks that are left.
func (c checked) Run() int {
	state, err := os.MkdirTemp("", "sluice-state-*") // the index of results is not for tests to write
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("XDG_STATE_HOME", state)
	code := c.m.Run()
	os.RemoveAll(state)
	if left := liveBlocks(); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "blocks were not released:\n"+left)
		return 1
	}
	return code
}
