package sluice_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a goroutine outlives its run.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
