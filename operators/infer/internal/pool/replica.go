package pool

import (
	"time"

	"github.com/sluice-data/sluice/gpu"
)

// Replica is one model that answers. Name is for people: a host and port.
type Replica struct {
	Name  string
	Model gpu.Model
}

// replica is a Replica and what is known of it. All fields but the first are guarded by the pool's lock.
type replica struct {
	Replica
	window   window
	assigned int       // requests that were given to it and have not ended
	flying   int       // of these, those that the model works on
	pause    time.Time // it asked for no more before then
	ejected  bool
	probing  bool
	next     time.Time     // when it is asked next, while ejected
	wait     time.Duration // between asking
	asked    time.Time     // when it was last found healthy
	polled   time.Time     // when it was last asked for its load
	served   int64
	lost     int64 // requests that were in flight when it was ejected
}

// cost ranks replicas: how long a new request would take there.
func (r *replica) cost() float64 {
	return float64(r.assigned+1) / r.window.size * max(float64(r.window.latency), 1)
}

// room says whether a request may be given to r: window many in flight, and so many beyond that are made ready.
func (r *replica) room(now time.Time, ahead int) bool {
	return !r.ejected && r.assigned < r.window.whole()+ahead && !now.Before(r.pause)
}
