// Package sched is the scheduler of Sluice: a pure state machine. It is told what happened (an Event, with its time) and answers with
// what to do (Effects). It has no clock, no goroutine, no lock and no I/O; whoever drives it serialises the calls. The local executor drives it
// with real workers, the simulator in its tests with imaginary ones, and a cluster's driver with remote ones.
//
// The machine owns the queues between stages, the CPU slots, the memory budget, and the order of results. It works by counters that
// each event updates; nothing is polled and nothing is recomputed over the whole plan. Blocks are opaque to it.
//
// Read api.go first: it is the whole contract. Then dispatch.go (what a stage does next), memory.go (who gets memory) and done.go (how
// stages end). The rules that hold a stage back are pure functions in package backpressure.
//
// # What a driver must know
//
// Claims. A block that a stage emits goes to every consuming port. The driver retains it once for every consuming port beyond the first before
// EvEmit or EvTaskDone. Each item of FxStart and of FxDrop is one claim: to be released when the task is done, or at once. A stage that no port
// consumes and that emits gets its items back as FxDrop.
//
// Effects are carried out in order. FxPark may be followed by FxGrant or FxDeny and by FxResume for the same task in the same Step. After FxGrant
// or FxDeny for a task that was parked, FxResume follows in that Step or a later one. EvUnblock, EvAsyncFull and EvRetry are always
// followed by FxResume sooner or later; EvAsyncFull at once when a delivery of the worker waits already.
//
// Memory. Everything granted (FxStart, FxGrant) is returned exactly once: as Return of EvTaskDone, or by EvFreed. Buffers that are free must be
// reported before the event that makes their owner idle (EvTaskDone, EvSpilled) and when a task of any stage is parked for memory: when
// nothing runs and nothing is awaited, the machine denies a request, and it can count only what it was told. What OffHeap workers hold is charged
// when FxStart opens them and returned with FxEnded; the driver does not report it.
//
// Workers are numbered densely from 0 and opened by their first TaskRead, TaskProcess or TaskFlush. Every stage flushes every opened worker
// once, sources too, and opens one to flush if none was, unless nobody wants the output any more. A TaskPartition has a number below MaxWorkers
// that is unique among those running and opens nothing.
//
// Order. A stage with Ordered passes on what tasks emitted in the order in which they were started: splits as listed, blocks as queued,
// flushes by worker, partitions by number. What a TaskDeliver emits belongs to that task, in the order of deliveries; a stage whose results must
// follow its input holds them back itself and has one worker.
//
// Ends. After FxStopSource the driver still sends EvListed once the listing has ended, and the tasks of readers end by themselves. After EvCancel no
// task starts; waiting ones are resumed as slots allow, requests for memory are denied.
//
// Spilling. One FxSpill a port is outstanding at a time. Besides ports that are not accepted yet, any port marked Spillable may be
// told to spill when a request for memory would otherwise be denied. Items handed out later say by Spilled that they must be read back;
// their claim on memory ended with EvSpilled.
package sched
