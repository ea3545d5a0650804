package sched

// StageID, WorkerID and TaskID are small dense numbers. Workers are numbered within their stage; tasks over the whole run, and
// numbers of finished tasks are used again.
type (
	StageID  int32
	WorkerID int32
	TaskID   int32
)

// Config is the physical plan as the machine sees it. Stages are in topological order: ports name earlier stages only.
type Config struct {
	Slots       int   // CPU slots: tasks that compute at the same time
	BudgetBytes int64 // of memory for everything
	BlockBytes  int64 // size that blocks should have
	Stages      []Stage
	Separate    bool // a task takes one block at a time and nothing is coalesced
}

// Stage is one stage: a fused chain of operators, a source, or a sink.
type Stage struct {
	Name       string
	Source     bool   // has no ports; its work are splits
	Ports      []Port // inputs
	MinWorkers int
	MaxWorkers int   // 0: Slots
	NoCPU      bool  // tasks wait more than they compute and hold no slot
	Ordered    bool  // what tasks emit goes downstream in the order in which the tasks were started
	Barrier    bool  // runs Merge and Partition tasks after Flush
	OffHeap    int64 // bytes reserved for the life of each worker
	TaskBlocks int   // most blocks that a task takes, 0: 64
}

// Port is one input of a stage. Ports of a higher phase are not accepted before all ports of lower phases have ended.
type Port struct {
	From  StageID
	Phase int
	// Spillable: while this port is not accepted and its producer also feeds another port, blocks beyond the edge's room are sent
	// to disk (effect Spill) so that the other branch can advance.
	Spillable bool
}

// Item is one block in a queue. Block is opaque to the machine and handed back as it came.
type Item struct {
	Bytes int64
	Rows  int64
	Block any
	// Spilled is set by the machine on items of FxStart and FxDrop whose block went to disk: the task reads it back first.
	Spilled bool
}

// EventKind says what happened.
type EventKind uint8

// The events. Fields used are named behind each.
const (
	// EvStart begins the run. It is the first event.
	EvStart EventKind = iota
	// EvSplit: a source listed a split. Stage, Item (Bytes to be read, Block is the split).
	EvSplit
	// EvListed: a source's listing has ended. Stage.
	EvListed
	// EvEmit: a running task hands over blocks it produced. Task, Items. The machine always takes them; it answers with FxPark for
	// the task if it must not produce more for the time being. The slice is not kept.
	EvEmit
	// EvTaskDone: a task has ended. Task; Items it still had to hand over; BusyNs of computing; Return bytes of unused memory of its stage; for
	// TaskMerge also N partitions; Stop if the operator wants no more input (a limit was reached).
	EvTaskDone
	// EvMemory: a task wants Bytes of memory beyond what its stage was granted. Task, Bytes. Answer: FxGrant at once, or FxPark and
	// FxGrant with FxResume later, or FxDeny when it can never be had. With Try it never parks: FxGrant or FxDeny at once.
	EvMemory
	// EvFreed: buffers of a stage were released. Stage, Bytes (returned to the budget).
	EvFreed
	// EvBlock: a task is about to wait for something outside (Blocking): its slot is free. Task, Reason.
	EvBlock
	// EvUnblock: that wait is over and the task wants its slot back. Task. Answer: FxResume at once or later.
	EvUnblock
	// EvAsyncStart: a worker has one more call in flight. Stage, Worker.
	EvAsyncStart
	// EvAsyncFull: a running task waits because its worker's window is full. Task. Its slot is free; FxResume comes after the next
	// EvAsyncReady of the worker.
	EvAsyncFull
	// EvAsyncReady: a call of a worker has ended and its delivery waits. Stage, Worker. The machine starts a TaskDeliver, unless the
	// worker is in a task, which then delivers itself. EvAsyncTaken: N deliveries were taken by the worker. Stage, Worker, N.
	EvAsyncReady
	EvAsyncTaken
	// EvSpilled: blocks of a port went to disk. Stage, Port, Bytes freed. EvUnspilled: the opposite is no event; a spilled item is
	// handed to the task, which reads it back.
	EvSpilled
	// EvRetry: a task failed transiently and waits until Now+Bytes nanoseconds before it goes on; slot and memory credit are free. Task. The
	// machine answers FxTimer and, when EvTimer comes, FxResume.
	EvRetry
	// EvTimer: time has come to Now as FxTimer asked.
	EvTimer
	// EvDrain: a person wants the run to end soon: sources stop, what was read goes through. EvCancel: no task is started any more, running ones
	// end by themselves, queues are dropped.
	EvDrain
	EvCancel
)

// Event is one event; which fields count is said at its kind. Now is nanoseconds on any monotonic clock.
type Event struct {
	Kind   EventKind
	Now    int64
	Stage  StageID
	Worker WorkerID
	Task   TaskID
	Port   int
	N      int
	Bytes  int64
	Return int64
	BusyNs int64
	Stop   bool
	Try    bool // EvMemory: do not wait
	Reason string
	Item   Item
	Items  []Item
}

// TaskKind says what a task does.
type TaskKind uint8

// The kinds of tasks. The first task of a worker opens it; after its last the worker is closed by the driver (FxClose).
const (
	TaskRead      TaskKind = iota // read the split in Items[0] to its end
	TaskProcess                   // process Items, all of one port
	TaskDeliver                   // run the deliveries of finished async calls
	TaskFlush                     // all input and deliveries are done: flush
	TaskMerge                     // all workers of a barrier were flushed: plan the partitions
	TaskPartition                 // run partition N
)

// EffectKind says what to do.
type EffectKind uint8

// The effects.
const (
	// FxStart: run a task. Task, Stage, Worker, Task kind, Port, Items (valid until the task is done), N, and Bytes of memory granted to
	// the stage in advance.
	FxStart EffectKind = iota
	// FxPark: the task that sent this event must wait for FxResume. Its slot is free. Reason.
	FxPark
	// FxResume: the task goes on, with a slot if its stage needs one.
	FxResume
	// FxGrant: Bytes of memory were granted to the stage of Task.
	FxGrant
	// FxDeny: the memory that Task asked for can never be had; Bytes is the budget that would do. The task goes on and must fail.
	FxDeny
	// FxListMore: a source may list N more splits. Stage.
	FxListMore
	// FxStopSource: nothing more is wanted of a source: end its listing and its readers. Stage.
	FxStopSource
	// FxDrop: these queued Items are not wanted any more; release them. Stage.
	FxDrop
	// FxSpill: write these queued items of Stage, Port to disk, in order, then send EvSpilled. Items. The machine keeps them queued.
	FxSpill
	// FxClose: a worker is not needed any more. Stage, Worker.
	FxClose
	// FxEnded: a stage has ended; everything it gave is queued downstream. Stage.
	FxEnded
	// FxTimer: send EvTimer at time Bytes.
	FxTimer
	// FxDone: all stages have ended.
	FxDone
	// FxStopStage: nobody wants what a stage still gives; emits of its tasks may fail with ErrStop. Stage.
	FxStopStage
)

// Effect is one effect; which fields count is said at its kind.
type Effect struct {
	Kind     EffectKind
	TaskKind TaskKind
	Stage    StageID
	Worker   WorkerID
	Task     TaskID
	Port     int
	N        int
	Bytes    int64
	Reason   Reason
	Items    []Item
}

// Reason says why something waits: which policy holds it, and the numbers that would have to change.
type Reason struct {
	Policy string // "input", "output", "memory", "slot", "workers", "order", "phase", "async", "retry", "blocking", "upstream ended", …
	Stage  string // the stage that holds it back, if another
	Have   int64
	Need   int64
	Unit   string // "bytes", "blocks", "slots", "calls", "ns"
}
