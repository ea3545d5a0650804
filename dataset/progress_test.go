package dataset

import "testing"

func TestWaitReasonsHaveNumbers(t *testing.T) {
	tests := []struct {
		r    WaitReason
		want string
	}{
		{WaitReason{}, ""},
		{WaitReason{Policy: "input", Need: 1, Unit: "blocks"}, "waits for input"},
		{WaitReason{Policy: "output", Stage: "resize", Have: 9 << 20, Need: 8 << 20, Unit: "bytes"}, "waits for resize, which has 9.0 MiB queued; goes on below 8.0 MiB"},
		{WaitReason{Policy: "memory", Have: 1000, Need: 1 << 30, Unit: "bytes"}, "waits for memory: 1000 B free, needs 1.0 GiB"},
		{WaitReason{Policy: "slot", Have: 2, Need: 3, Unit: "slots"}, "waits for a CPU: 2 of 2 busy"},
		{WaitReason{Policy: "slot", Have: 1, Need: 3, Unit: "slots"}, "about to go on"},
		{WaitReason{Policy: "workers", Have: 4, Need: 5, Unit: "workers"}, "all 4 workers busy; would start with 5"},
		{WaitReason{Policy: "order", Have: 7, Need: 5, Unit: "tasks"}, "waits for an older block, to keep the order; 7 tasks begun, goes on below 5"},
		{WaitReason{Policy: "order", Have: 3 << 10, Need: 2 << 10, Unit: "bytes"}, "waits for an older block, to keep the order; 3.0 KiB wait, goes on below 2.0 KiB"},
		{WaitReason{Policy: "phase", Stage: "read parquet", Have: 3, Unit: "blocks"}, "waits for read parquet to end first; 3 blocks wait"},
		{WaitReason{Policy: "async", Have: 16, Unit: "calls"}, "waits for 16 calls in flight"},
		{WaitReason{Policy: "retry", Have: 1e9, Need: 35e8, Unit: "ns"}, "tries again in 2.5s"},
		{WaitReason{Policy: "blocking", Stage: "the consumer", Have: 31e9, Unit: "ns"}, "waits for the consumer for 31s"},
		{WaitReason{Policy: "spill", Have: 2, Unit: "blocks"}, "waits for 2 blocks on their way to disk"},
		{WaitReason{Policy: "listing", Unit: "splits"}, "waits for its listing to end"},
		{WaitReason{Policy: "cancelled", Have: 2, Unit: "tasks"}, "was cancelled; 2 tasks still run"},
		{WaitReason{Policy: "upstream ended"}, "waits for upstream ended"},
	}
	for _, tt := range tests {
		if got := tt.r.String(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.r, got, tt.want)
		}
	}
}
