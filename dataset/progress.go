package dataset

import (
	"fmt"
	"time"
)

// The states of a run, in their order. A run that fails or is interrupted goes from any of them to RunEnded.
const (
	RunRunning    = "running"    // rows flow
	RunDraining   = "draining"   // it was interrupted; what was read goes through
	RunPublishing = "publishing" // all rows are at their sinks; results are made visible
	RunEnded      = "ended"
)

// Progress is where a run is now. Every field is a copy.
type Progress struct {
	State     string
	UsedBytes int64 // of the memory budget now; idle pooled buffers are not counted
	Slots     int   // CPU slots
	SlotsBusy int
	Input     InputProgress
	Quiet     time.Duration // since anything was begun, handed over or done
	// Bottleneck is the stage that limits the run, and why it is that one.
	Bottleneck Bottleneck
}

// InputProgress is how far the sources are read, in bytes as stored. All of it is zero where sources do not know their sizes.
type InputProgress struct {
	ListedBytes int64 // of all splits listed so far
	ReadBytes   int64 // of these, read; parts of splits count as their share of positions
	Listed      bool  // listing has ended: ListedBytes is the total
	// Left is the time until the input is read at the rate of the last half minute; negative when it cannot be said. Behind a sort
	// there is work after that.
	Left time.Duration
}

// Bottleneck names the stage that limits the run. Stage is empty while nothing was measured.
type Bottleneck struct {
	Stage string
	Index int    // in Report.Stages
	Why   string // "2 of 2 CPUs busy", "1 of 1 workers busy", "64 calls in flight"
}

// Flow is what one stage holds now and how fast it goes.
type Flow struct {
	State        string // "open", "flushing", "merging", "partitioning", "closing", "ended"
	QueuedBlocks int64  // waiting for the stage in memory
	QueuedBytes  int64
	OnDisk       int64 // blocks queued and spilled
	Running      int   // tasks running now
	Tasks        int   // tasks begun and not done, waiting ones included
	Allowed      int   // tasks at once at most
	InFlight     int   // asynchronous calls
	HeldBytes    int64 // of memory its buffers and reservations take now
	PeakBytes    int64 // of them at most, looked at whenever a task ends
	Spilled      int64 // bytes written to disk for it
	Allocated    int64 // bytes of all buffers that the allocator gave it; how much it made, not how much it holds
	Working      time.Duration
	// Idle is the time in which the stage ran nothing, by reason; Working and Idle add up to the time until the stage ended. Waits of
	// StageReport are the times that its tasks waited, summed over tasks.
	Idle map[string]time.Duration
	// Why is what keeps the stage from doing more now; its Policy is empty for a stage that has ended.
	Why     WaitReason
	In, Out Rate // over the last seconds
	// P50 and P99 are the time of computing a block takes: one that is read, one call of the stage's first operator, or one
	// asynchronous call from start to end. They are exact to 6 %; zero before the first block.
	P50, P99 time.Duration
}

// Rate is per second.
type Rate struct{ Rows, Bytes float64 }

// WaitReason says why something waits: the policy that holds it and the numbers that would have to change.
type WaitReason struct {
	Policy string // "input", "output", "memory", "slot", "workers", "order", "phase", "async", "retry", "blocking", …
	Stage  string // the stage that holds it back; for "blocking" what is waited for
	Have   int64
	Need   int64
	Unit   string // "bytes", "blocks", "slots", "calls", "tasks", "workers", "splits", "ns"
}

// String is the reason in a few words, with its numbers.
func (r WaitReason) String() string {
	switch r.Policy {
	case "":
		return ""
	case "input":
		return "waits for input"
	case "phase":
		return fmt.Sprintf("waits for %s to end first; %d blocks wait", orElse(r.Stage, "an earlier input"), r.Have)
	case "workers":
		return fmt.Sprintf("all %d workers busy; would start with %d", r.Have, r.Need)
	case "output":
		return fmt.Sprintf("waits for %s, which has %s queued; goes on below %s", orElse(r.Stage, "the next stage"), Bytes(r.Have), Bytes(r.Need))
	case "order":
		if r.Unit == "bytes" {
			return fmt.Sprintf("waits for an older block, to keep the order; %s wait, goes on below %s", Bytes(r.Have), Bytes(r.Need))
		}
		return fmt.Sprintf("waits for an older block, to keep the order; %d %s begun, goes on below %d", r.Have, r.Unit, r.Need)
	case "memory":
		return fmt.Sprintf("waits for memory: %s free, needs %s", Bytes(r.Have), Bytes(r.Need))
	case "slot":
		if r.Have < r.Need-1 || r.Need == 0 {
			return "about to go on"
		}
		return fmt.Sprintf("waits for a CPU: %d of %d busy", r.Have, r.Need-1)
	case "async":
		return fmt.Sprintf("waits for %d calls in flight", r.Have)
	case "retry":
		return fmt.Sprintf("tries again in %s", time.Duration(max(0, r.Need-r.Have)).Round(100*time.Millisecond))
	case "blocking":
		return fmt.Sprintf("waits for %s for %s", orElse(r.Stage, "something outside"), time.Duration(r.Have).Round(100*time.Millisecond))
	case "spill":
		return fmt.Sprintf("waits for %d blocks on their way to disk", r.Have)
	case "listing":
		return "waits for its listing to end"
	case "cancelled":
		return fmt.Sprintf("was cancelled; %d %s still run", r.Have, r.Unit)
	}
	return "waits for " + r.Policy
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Bytes writes a size in powers of 1024 for messages: 950 B, 1.5 MiB.
func Bytes(n int64) string {
	v, u := float64(n), 0
	for units := "KMGTP"; u < len(units) && (v >= 1024 || v <= -1024); u++ {
		v /= 1024
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTP"[u-1])
}
