package sched

// where says where the data of a queued item is.
type where uint8

const (
	inMemory where = iota
	spilling       // FxSpill was sent, EvSpilled has not come
	onDisk
)

type entry struct {
	item  Item
	where where
}

// ring is a FIFO of entries that allocates only when it must grow.
type ring struct {
	buf  []entry
	head int
	n    int
}

func (r *ring) push(e entry) {
	if r.n == len(r.buf) {
		grown := make([]entry, max(8, 2*len(r.buf)))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.buf, r.head = grown, 0
	}
	*r.at(r.n) = e
	r.n++
}

// at returns the i-th entry from the front. The length of buf is a power of two.
func (r *ring) at(i int) *entry { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring) pop() entry {
	p := r.at(0)
	e := *p
	*p = entry{}
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return e
}

// leastItemBytes is what an item counts for at least in the room of an edge: its header is not free.
const leastItemBytes = 1 << 10

// port is one input of a stage with its queue. A source has one too: the queue of its splits.
type port struct {
	from      *stage
	phase     int
	spill     bool // blocks beyond the room go to disk while the port is not accepted
	room      int64
	q         ring
	bytes     int64 // in memory or being spilled, as the room counts them
	items     int   // of these, how many
	full      bool
	ended     bool  // the producer has ended; a source's listing has
	finished  bool  // ended, empty and without a task
	active    int   // tasks that took from this port
	listed    bool  // in the stage's list of ports to take from
	spillN    int   // items of the outstanding FxSpill
	popped    int64 // items ever taken from q
	spillFrom int64 // which of the items ever queued is the first of the outstanding FxSpill
	spillBuf  []Item
}

func edgeBytes(it Item) int64 { return max(it.Bytes, leastItemBytes) }
