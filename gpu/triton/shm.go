package triton

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/store"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

// unregisterFor is how long the end of the requests that use a segment is waited for: Triton 2.51 refuses to forget one until then, once in a while
// just after the last answer too.
const unregisterFor = 3 * time.Second

// regions are the segments of shared memory that the server was told of, each once, at offset 0, under its own name.
type regions struct {
	server *Server
	slots  *slots

	mu struct {
		sync.Mutex
		conn  *store.Conn
		known map[string]*region
		epoch int // counts restarts of the server
		note  string
		off   bool
	}
}

// region is one segment at one life of the server.
type region struct {
	once  sync.Mutex
	ready bool
}

// sharedRegion is where an input or output lies, in the server's words.
type sharedRegion struct {
	name        string
	offset, len int64
}

func newRegions(s *Server, sl *slots) *regions {
	r := &regions{server: s, slots: sl}
	r.mu.known = map[string]*region{}
	r.mu.off = true
	return r
}

// decide turns shared memory on if it was asked for and the server may offer it. Whether it does is seen at the first segment.
func (r *regions) decide(d dialect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.server.opts.Shared:
		return
	case d != dialectTriton:
		r.mu.note = "shared memory is off: this kind of server has none"
		return
	}
	sh, err := store.OpenShared(store.SharedConfig{})
	if err != nil {
		r.mu.note = fmt.Sprintf("shared memory is off: %v", err)
		return
	}
	r.slots.share(sh)
	r.mu.conn = sh.Connect()
	r.mu.off = false
}

func (r *regions) notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	if r.mu.note != "" {
		list = append(list, r.mu.note)
	}
	if n := r.slots.missed(); n > 0 && !r.mu.off {
		list = append(list, fmt.Sprintf("shared memory ran out: %d bytes were sent inline; give %s more room", n, store.DefaultDir()))
	}
	return list
}

// epoch tells the present life of the server, as far as known.
func (r *regions) epoch() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.epoch
}

// lost notes that the server of that epoch forgot its segments: all of them are told again, and memory that only that server could write to is free.
func (r *regions) lost(epoch int) {
	r.mu.Lock()
	fresh := r.mu.epoch == epoch
	if fresh {
		r.mu.epoch++
		r.mu.known = map[string]*region{}
	}
	r.mu.Unlock()
	if fresh {
		r.slots.released()
	}
}

// locate tells the server's name of the place of some bytes, after it has told the server of their segment. ok is false for bytes that go inline:
// they are not shared, or the server refused. The error is of a server that cannot be reached.
func (r *regions) locate(ctx context.Context, b []byte) (at sharedRegion, ok bool, err error) {
	r.mu.Lock()
	off := r.mu.off
	r.mu.Unlock()
	if off || len(b) == 0 {
		return sharedRegion{}, false, nil
	}
	span, ok := r.slots.shared().Locate(b)
	if !ok {
		return sharedRegion{}, false, nil
	}
	if ok, err = r.ensure(ctx, span.Segment); !ok || err != nil {
		return sharedRegion{}, false, err
	}
	return sharedRegion{span.Segment, span.Offset, span.Len}, true, nil
}

// ensure registers a segment unless that was done.
func (r *regions) ensure(ctx context.Context, segment string) (bool, error) {
	r.mu.Lock()
	g := r.mu.known[segment]
	if g == nil {
		g = &region{}
		r.mu.known[segment] = g
	}
	r.mu.Unlock()
	g.once.Lock()
	defer g.once.Unlock()
	if g.ready {
		return true, nil
	}
	size, err := r.mu.conn.Hold(segment)
	if err != nil {
		return false, fmt.Errorf("register shared memory: %w", err)
	}
	err = r.register(ctx, segment, size)
	if err == nil {
		g.ready = true
		return true, nil
	}
	r.mu.conn.Unhold(segment)
	err = r.server.classify(ctx, "register shared memory", err)
	var transient *dataset.TransientError
	if errors.As(err, &transient) || ctx.Err() != nil {
		return false, err
	}
	r.refused(err)
	return false, nil
}

// refused turns shared memory off for good.
func (r *regions) refused(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.off = true
	r.slots.unshare()
	r.mu.note = fmt.Sprintf("shared memory is off: the server refused it (%v); it must run on this machine, see the same %s, and since version 2.69 be started with --allow-client-shm=true",
		err, r.slots.shared().Dir())
}

// register tells the server of a segment. One of that name is a left-over of an answer that never came, and goes first.
func (r *regions) register(ctx context.Context, segment string, size int64) error {
	call, cancel := r.server.bounded(ctx)
	defer cancel()
	req := &pb.SystemSharedMemoryRegisterRequest{Name: segment, Key: "/" + segment, ByteSize: uint64(size)}
	_, err := r.server.conns.rpc().SystemSharedMemoryRegister(call, req)
	if !isCode(err, codes.AlreadyExists) {
		return err
	}
	if err := r.unregister(call, segment); err != nil {
		return err
	}
	_, err = r.server.conns.rpc().SystemSharedMemoryRegister(call, req)
	return err
}

// unregister has the server forget a segment, and waits for the requests that use it.
func (r *regions) unregister(ctx context.Context, segment string) error {
	pace := backoff.NewExponentialBackOff()
	pace.InitialInterval, pace.MaxInterval = time.Millisecond, 100*time.Millisecond
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		_, err := r.server.conns.rpc().SystemSharedMemoryUnregister(ctx, &pb.SystemSharedMemoryUnregisterRequest{Name: segment})
		if err != nil && !says(status.Convert(err), saysInUse) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pace), backoff.WithMaxElapsedTime(unregisterFor))
	return err
}

// close has the server forget all segments. A server that is gone has done so; one that does not answer in time keeps its mapping of files that
// have no name any more.
func (r *regions) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), unregisterFor)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for name, g := range r.mu.known {
		if !g.ready {
			continue
		}
		err := r.unregister(ctx, name)
		if isCode(err, codes.Unavailable) || isCode(err, codes.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
			break
		}
		// A server that is still at work for a request that nobody waits for keeps the mapping until it ends; the run need not fail for that.
		if err != nil && !isCode(err, codes.NotFound) && !says(status.Convert(err), saysInUse) {
			errs = append(errs, fmt.Errorf("unregister shared memory %s from %s: %w", name, r.server.at.host, err))
		}
	}
	if r.mu.conn != nil {
		r.mu.conn.Close()
	}
	r.mu.off = true
	return errors.Join(errs...)
}
