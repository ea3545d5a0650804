package isolate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// link is one child that runs the model, from its start to its end. It is safe for concurrent use.
type link struct {
	proc  *child.Proc
	info  *gpu.Info
	slabs *child.Slabs
	owned sync.WaitGroup // the reader

	sending sync.Mutex

	mu struct {
		sync.Mutex
		flights map[int64]*flight
		dead    error // why there is no child any more
		blamed  *flight
		looked  time.Time // when its memory was looked at
	}
}

// flight is a request that the child works on. What it holds is its caller's again when done is closed, unless the caller has left.
type flight struct {
	id   int64
	in   []*child.Slab
	out  *child.Slab
	done chan struct{}
	left bool // the caller gave up: slabs are freed when the child touches them no more

	// when done is closed
	outputs []placed
	len     int64
	err     error
	died    bool // of the child's death
	alone   bool // no other request was in flight then
	guilty  bool // it is known to be the cause
}

// free gives back what the flight holds.
func (f *flight) free() {
	for _, s := range f.in {
		s.Return()
	}
	f.out.Return()
	f.in, f.out = nil, nil
}

// openLink starts a child and has it open the model.
func openLink(ctx context.Context, name string, slots int, l *child.Launch, o *modelOrder, slabs *child.Slabs) (*link, error) {
	p, err := startChild(name, slots, l)
	if err != nil {
		return nil, err
	}
	k := &link{proc: p, slabs: slabs}
	k.mu.flights = map[int64]*flight{}
	var r modelReport
	if err = tell(p, order{Op: orderModel, Model: o}); err == nil {
		err = hear(ctx, p, nil, &r)
	}
	switch {
	case err != nil:
	case r.Op != modelOpened:
		err = fmt.Errorf("it says %q", r.Op)
	case r.Fault != nil:
		err = r.Fault.err()
	case r.Info == nil:
		err = errors.New("it says nothing of the model")
	}
	if err != nil {
		p.End()
		return nil, err
	}
	k.info = r.Info
	k.owned.Go(k.read)
	return k, nil
}

// read takes the child's reports until it ends.
func (k *link) read() {
	for {
		var r modelReport
		err := hear(context.Background(), k.proc, nil, &r)
		if err == nil {
			err = k.handle(&r)
		}
		if err != nil {
			k.end(err)
			return
		}
	}
}

func (k *link) handle(r *modelReport) error {
	k.mu.Lock()
	f := k.mu.flights[r.ID]
	if f != nil && r.Op == modelAnswered {
		delete(k.mu.flights, r.ID)
		f.outputs, f.len, f.err = r.Outputs, r.Len, r.Fault.err()
		k.land(f)
	}
	k.mu.Unlock()
	switch {
	case f == nil || r.Op != modelAnswered && r.Op != modelNeedRoom:
		return k.proc.Stop(&child.Died{Text: fmt.Sprintf("the process does not keep to its protocol: it says %q of request %d", r.Op, r.ID), Kind: "process"})
	case r.Op == modelNeedRoom:
		return k.giveRoom(f, r.Len)
	}
	return nil
}

// giveRoom makes room for outputs that are larger than was thought.
func (k *link) giveRoom(f *flight, n int64) error {
	room, err := k.slabs.Get(int(n))
	if err != nil {
		return k.send(modelOrder{Op: modelRoom, ID: f.id, Fault: faultOf(err)})
	}
	k.mu.Lock()
	old := f.out
	f.out = room
	k.mu.Unlock()
	old.Return()
	return k.send(modelOrder{Op: modelRoom, ID: f.id, Out: &room.Place})
}

// land ends a flight; called with the lock held.
func (k *link) land(f *flight) {
	if f.left {
		f.free()
	}
	close(f.done)
}

// end lands all flights: the child is gone.
func (k *link) end(why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.dead = why
	alone := len(k.mu.flights) == 1
	for id, f := range k.mu.flights {
		delete(k.mu.flights, id)
		f.err, f.died, f.alone, f.guilty = why, true, alone, f == k.mu.blamed
		if k.mu.blamed != nil && !f.guilty {
			f.err = &child.Died{Text: "the process was killed for another request", Kind: "process"}
		}
		k.land(f)
	}
}

// launch sends a request. The error is that of a child that is gone, whose death the caller has no part in.
func (k *link) launch(f *flight, o modelOrder) error {
	k.mu.Lock()
	if err := k.mu.dead; err != nil {
		k.mu.Unlock()
		return err
	}
	k.mu.flights[f.id] = f
	k.mu.Unlock()
	_ = k.send(o) // the reader finds out as well, and lands the flight
	return nil
}

// wait waits for the flight's end. When ctx ends, or the time limit is reached and a grace after it, the caller leaves or the child is killed.
func (k *link) wait(ctx context.Context, f *flight, limit time.Duration, by string) error {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-f.done:
		return nil
	case <-t.C:
		k.blame(f, &child.Died{Text: fmt.Sprintf("it took longer than %v; its process was killed (%s)", limit, by), Kind: "timeout", Final: true})
		<-f.done
		return nil
	case <-ctx.Done():
	}
	k.mu.Lock()
	select {
	case <-f.done:
		k.mu.Unlock()
		return nil
	default:
	}
	f.left = true
	k.mu.Unlock()
	_ = k.send(modelOrder{Op: modelCancel, ID: f.id})
	return context.Cause(ctx)
}

// blame kills the child because of a flight.
func (k *link) blame(f *flight, why *child.Died) {
	k.mu.Lock()
	mine := k.mu.dead == nil && k.mu.blamed == nil && k.mu.flights[f.id] == f
	if mine {
		k.mu.blamed = f
	}
	k.mu.Unlock()
	if mine {
		_ = k.proc.Stop(why)
	}
}

// lookEvery is how often the memory of the child is looked at, which costs some 20 µs.
const lookEvery = 100 * time.Millisecond

// private is what the child takes, if it is time to look. A child above its limit is killed.
func (k *link) private() (n int64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.dead != nil || time.Since(k.mu.looked) < lookEvery {
		return 0, false
	}
	k.mu.looked = time.Now()
	_ = k.proc.Look() // it ends the child, as its reader then finds out
	return child.PrivateOf(k.proc.Pid)
}

func (k *link) gone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.dead != nil
}

func (k *link) send(o modelOrder) error {
	k.sending.Lock()
	defer k.sending.Unlock()
	return tell(k.proc, o)
}

// close has the child end by itself, for a while, and frees what belongs to it.
func (k *link) close() error {
	var err error
	if !k.gone() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		err = k.proc.Finish(ctx)
		cancel()
	}
	k.proc.End()
	k.owned.Wait()
	return err
}
