package metrics

import "github.com/prometheus/client_golang/prometheus"

// desc describes a metric of ours.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("sluice_"+name, help, labels, nil)
}

// Of the run.
var (
	runInfo     = desc("run_info", "1; the version and the command of the run.", "version", "command")
	runState    = desc("run_state", "1 for the state that the run is in.", "state")
	runSeconds  = desc("run_seconds", "Time since the run began; it stands still when the run has ended.")
	quiet       = desc("quiet_seconds", "Time since anything was begun, handed over or done.")
	rowsRead    = desc("rows_read_total", "Rows that sources gave.")
	rowsWritten = desc("rows_written_total", "Rows that sinks took.")
	rowsFailed  = desc("rows_failed_total", "Rows that failed.")
	bytesRead   = desc("read_bytes_total", "Bytes of the rows that sources gave, as they are in memory.")
	listed      = desc("input_listed_bytes", "Bytes of input listed so far, as stored.")
	read        = desc("input_read_bytes", "Bytes of them that were read.")
	complete    = desc("input_listed", "1 when listing has ended.")
	left        = desc("input_left_seconds", "Time until the input is read; absent while it cannot be said.")
	memUsed     = desc("memory_used_bytes", "Memory of the budget that buffers and reservations take now.")
	memPeak     = desc("memory_peak_bytes", "The most that they took.")
	memBudget   = desc("memory_budget_bytes", "The budget.")
	spilled     = desc("spilled_bytes_total", "Bytes written to temporary files.")
	slots       = desc("slots", "CPU slots.")
	slotsBusy   = desc("slots_busy", "CPU slots in use.")
	bottleneck  = desc("bottleneck", "1 for the stage that limits the run.", "stage", "name")
	failures    = desc("failures_total", "Failed rows by step and class; classes beyond the first hundred count as other.", "step", "class")
	warnings    = desc("warnings_total", "Warnings by class; classes beyond the first hundred count as other.", "class")
)

// perStage are the labels of a stage: its number from 1, and its name.
var perStage = []string{"stage", "name"}

func stageDesc(name, help string, more ...string) *prometheus.Desc {
	return desc("stage_"+name, help, append(append([]string{}, perStage...), more...)...)
}

// Of each stage.
var (
	stageRowsIn    = stageDesc("rows_in_total", "Rows that the stage took.")
	stageRowsOut   = stageDesc("rows_out_total", "Rows that it gave.")
	stageBytesIn   = stageDesc("bytes_in_total", "Bytes that it took.")
	stageBytesOut  = stageDesc("bytes_out_total", "Bytes that it gave.")
	stageBlocksIn  = stageDesc("blocks_in_total", "Blocks that it took.")
	stageBlocksOut = stageDesc("blocks_out_total", "Blocks that it gave.")
	stageFailed    = stageDesc("failed_rows_total", "Rows that failed in it.")
	stageSlots     = stageDesc("slot_seconds_total", "Time for which its tasks held CPU slots, summed over tasks.")
	stageWorking   = stageDesc("working_seconds_total", "Time in which at least one of its tasks ran.")
	stageIdle      = stageDesc("idle_seconds_total", "Time in which it ran nothing, by reason.", "reason")
	stageWaits     = stageDesc("wait_seconds_total", "Time that its tasks waited, summed over tasks, by reason.", "reason")
	stageQueued    = stageDesc("queued_bytes", "Bytes that wait for it in memory.")
	stageBlocks    = stageDesc("queued_blocks", "Blocks that wait for it in memory.")
	stageOnDisk    = stageDesc("queued_on_disk_blocks", "Blocks that wait for it on disk.")
	stageRunning   = stageDesc("running_tasks", "Tasks that run now.")
	stageAllowed   = stageDesc("allowed_tasks", "Tasks that may run at once.")
	stageInFlight  = stageDesc("calls_in_flight", "Asynchronous calls in flight.")
	stageMemory    = stageDesc("memory_bytes", "Memory that its buffers and reservations take now.")
	stagePeak      = stageDesc("memory_peak_bytes", "The most that they took.")
	stageAllocated = stageDesc("allocated_bytes_total", "Bytes of all buffers that the allocator gave it.")
	stageSpilled   = stageDesc("spilled_bytes_total", "Bytes written to temporary files for it.")
	stageTook      = stageDesc("block_seconds", "Time of computing that a block took, or an asynchronous call from start to end.")
)

// all are the metrics of ours.
var all = []*prometheus.Desc{runInfo, runState, runSeconds, quiet, rowsRead, rowsWritten, rowsFailed, bytesRead, listed, read, complete, left,
	memUsed, memPeak, memBudget, spilled, slots, slotsBusy, bottleneck, failures, warnings,
	stageRowsIn, stageRowsOut, stageBytesIn, stageBytesOut, stageBlocksIn, stageBlocksOut, stageFailed, stageSlots, stageWorking, stageIdle, stageWaits,
	stageQueued, stageBlocks, stageOnDisk, stageRunning, stageAllowed, stageInFlight, stageMemory, stagePeak, stageAllocated, stageSpilled, stageTook}
