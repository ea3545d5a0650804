package sched

// life is how far a stage has come.
type life uint8

const (
	open life = iota
	flushing
	merging
	partitioning
	closing
	ended
)

type outRef struct {
	to   *stage
	port int
}

// worker is in exactly one of three places: in a task, in the stage's idle list, or in its due list because deliveries of finished calls wait
// for it. prev and next link the lists by number.
type worker struct {
	prev, next WorkerID
	task       TaskID
	list       *workerList
	inFlight   int
	ready      int
}

type stage struct {
	id    StageID
	cfg   Stage
	rank  int // in the order in which stages are served: what is near the end first
	most  int // workers
	width int // workers that can compute at the same time

	ports     []port
	pending   portList // accepted ports that have something to take
	phase     int      // ports of this phase are accepted
	phaseLeft int      // of these, how many are not finished
	queued    int64    // items that accepted ports hold
	waiting   int64    // items that other ports hold

	outs     []outRef
	liveOuts int
	outFull  int // live edges over their room

	life       life
	stopped    bool // takes no input any more
	told       bool // FxStopSource or FxStopStage was sent
	flushNext  int
	merged     int // 0 not started, 1 running, 2 done
	partitions int
	partNext   int

	workers  []worker
	opened   int
	freeNums []WorkerID // partition tasks: numbers not in use
	idle     workerList
	due      workerList
	active   int
	running  int
	inFlight int
	ready    int

	resumable taskList // may go on as soon as there is a slot
	outParked taskList // wait for room downstream
	memParked taskList
	memStart  bool // would start but for memory

	serials order

	credit  int // splits that the source may still list
	listing bool

	stats stats
	held  waitKind
	since int64

	endedAt int64
}

// dead says that nobody wants what the stage would give.
func (m *Machine) dead(s *stage) bool {
	return m.cancelled || (len(s.outs) > 0 && s.liveOuts == 0)
}

// portList is a FIFO of port numbers.
type portList struct {
	buf     []int32
	head, n int
}

func (l *portList) push(p int) {
	l.buf[(l.head+l.n)%len(l.buf)] = int32(p)
	l.n++
}

func (l *portList) pop() int {
	p := l.buf[l.head]
	l.head = (l.head + 1) % len(l.buf)
	l.n--
	return int(p)
}

// workerList is a list of workers linked by their numbers; the last put in comes out first, as its caches are warm.
type workerList struct {
	first WorkerID
	n     int
}

func (s *stage) link(l *workerList, w WorkerID) {
	k := &s.workers[w]
	k.list, k.prev, k.next = l, -1, l.first
	if l.n > 0 {
		s.workers[l.first].prev = w
	} else {
		k.next = -1
	}
	l.first = w
	l.n++
}

func (s *stage) unlink(w WorkerID) {
	k := &s.workers[w]
	l := k.list
	if l == nil {
		return
	}
	if k.prev >= 0 {
		s.workers[k.prev].next = k.next
	} else {
		l.first = k.next
	}
	if k.next >= 0 {
		s.workers[k.next].prev = k.prev
	}
	l.n--
	k.list = nil
}
