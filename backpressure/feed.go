package backpressure

// Load is how busy a stage was: the time that its workers were the limit, over how many of them there may be. In a pipeline all stages see
// the same flow, so the stage with the largest load is the bottleneck, whatever the expansion of the stages between.
type Load struct {
	Ns    int64 // time in which a worker computed or waited for something outside
	Width int64 // workers that may do so at the same time
}

// PerWorker is the load to compare.
func (l Load) PerWorker() int64 { return l.Ns / max(1, l.Width) }

// Bottleneck is the busiest stage at one moment.
type Bottleneck struct {
	NoCPU        bool
	Width, Slots int64
	Queued       int64 // blocks that it could take
	FullEdges    int64
}

// Hungry says whether what feeds the bottleneck goes before everything else: its workers, not the CPU slots, are the limit, its own
// output has room, and less than two blocks a worker wait for it. Otherwise the stage nearest to the end goes first, which keeps memory low.
func Hungry(b Bottleneck) bool {
	narrow := b.NoCPU || b.Width < b.Slots
	return narrow && b.FullEdges == 0 && b.Queued < 2*b.Width
}

// Share is how many of the queued blocks the next task takes when takers tasks could begin now: an even part, at most most.
func Share(queued, takers, most int64) int64 {
	takers = max(1, takers)
	return max(1, min(most, (queued+takers-1)/takers))
}

// EdgeFull says whether an edge is over its room: more than two blocks and more than room bytes.
func EdgeFull(items, bytes, room int64) bool { return items > 2 && bytes > room }

// EdgeRoom is the room of an edge to a stage with so many workers: four blocks, or one a worker and two to spare.
func EdgeRoom(blockBytes int64, workers int) int64 { return blockBytes * int64(max(4, workers+2)) }
