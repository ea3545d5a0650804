package object

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// leaseTimes pace a lease. A holder that could not renew it for fence stops changing the result before others, who wait for dead,
// take it over.
type leaseTimes struct{ renew, poll, fence, dead time.Duration }

var defaultTimes = leaseTimes{renew: 5 * time.Second, poll: time.Second, fence: 20 * time.Second, dead: 30 * time.Second}

// leaseFormat is the version of lease objects.
const leaseFormat = 1

// leaseRecord is a lease object.
type leaseRecord struct {
	Format  int    `json:"format"`
	Epoch   uint64 `json:"epoch"`
	Token   string `json:"token"` // of this holder
	Owner   string `json:"owner"` // for people
	Machine string `json:"machine"`
	Boot    string `json:"boot"`
	PIDs    string `json:"pids"` // the process id namespace
	PID     int    `json:"pid"`
	Start   string `json:"start"` // of the process, since the ids of dead ones are used again
	Beat    uint64 `json:"beat"`
}

// lease is a lock that is held: one object for each holder, numbered by epoch. Taking a lease over is creating the object of the next
// epoch, which only one can do. The holder renews its object, and has lost the lease when there is a later one, or its own is gone.
type lease struct {
	s      *storage
	b      *bucket
	folder string
	key    string
	times  leaseTimes
	stop   context.CancelFunc
	beater sync.WaitGroup
	mu     struct {
		sync.Mutex
		rec   leaseRecord
		alive time.Time // when the last renewal that succeeded began, by the wall clock: it goes on while a machine sleeps
		lost  error
	}
}

// Lock implements dataset.Storage.
func (s *storage) Lock(ctx context.Context, name string, owner []byte) (release func() error, err error) {
	b, key, err := s.open(ctx, name)
	if err != nil {
		return nil, err
	}
	l := &lease{s: s, b: b, folder: key + leaseFolder + "/", times: s.d.times}
	l.mu.rec = thisProcess()
	l.mu.rec.Token, l.mu.rec.Owner = rand.Text(), strings.TrimSpace(string(owner))
	if err := l.acquire(ctx); err != nil {
		return nil, err
	}
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.beater.Go(func() { l.renewals(beat) })
	s.d.held.Store(l)
	if sweep := b.store.drv.sweep; sweep != nil {
		if err := sweep(ctx, b.Bucket, b.name, s.root+"/"); err != nil && ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), l.release())
		}
	}
	return l.release, nil
}

func (l *lease) epochKey(n uint64) string { return fmt.Sprintf("%s%020d.json", l.folder, n) }

// epochs lists the lease objects, oldest first.
func (l *lease) epochs(ctx context.Context) (out []uint64, err error) {
	err = l.b.each(ctx, l.folder, func(key string) {
		var n uint64
		if _, err := fmt.Sscanf(path.Base(key), "%020d.json", &n); err == nil && l.epochKey(n) == key {
			out = append(out, n)
		}
	})
	return out, err
}

func (l *lease) read(ctx context.Context, epoch uint64) (rec leaseRecord, err error) {
	raw, err := l.b.readAll(ctx, l.epochKey(epoch))
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		return rec, fmt.Errorf("read %s: %w", l.b.url(l.epochKey(epoch)), err)
	}
	return rec, nil
}

// acquire takes the lease, waiting only to find out whether a holder elsewhere is alive.
func (l *lease) acquire(ctx context.Context) error {
	for {
		epochs, err := l.epochs(ctx)
		if err != nil {
			return err
		}
		last := uint64(0)
		if n := len(epochs); n > 0 {
			last = epochs[n-1]
			dead, err := l.outlive(ctx, last)
			if err != nil {
				return err
			}
			if !dead {
				continue
			}
		}
		got, err := l.claim(ctx, last)
		if got || err != nil {
			return err
		}
	}
}

// outlive waits until the holder of an epoch is known to be dead. If it is alive the error is a *dataset.LockedError; false means that
// the lease is gone and the look at it begins anew.
func (l *lease) outlive(ctx context.Context, epoch uint64) (dead bool, err error) {
	first, err := l.read(ctx, epoch)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	locked := &dataset.LockedError{Name: l.b.url(strings.TrimSuffix(l.folder, leaseFolder+"/")), Owner: first.Owner}
	if alive, known := first.aliveHere(); known {
		if alive {
			return false, locked
		}
		return true, nil
	}
	dataset.Notice(ctx, fmt.Sprintf("%s is held by another machine (%s); waiting up to %s to see whether it is alive", locked.Name, first.Owner, l.times.dead))
	for begin := time.Now(); time.Since(begin) < l.times.dead; {
		t := time.NewTimer(l.times.poll)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return false, context.Cause(ctx)
		}
		now, err := l.read(ctx, epoch)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, err
		case now.Token != first.Token || now.Beat != first.Beat:
			return false, locked
		}
	}
	return true, nil
}

// claim creates the object of the epoch after last, whose holder is dead (0: there is none). It is given up if the lease objects have
// changed since they were looked at: another one was faster.
func (l *lease) claim(ctx context.Context, last uint64) (bool, error) {
	begin := time.Now().Round(0)
	l.mu.rec.Epoch, l.mu.rec.Format = last+1, leaseFormat
	raw, err := json.Marshal(l.mu.rec)
	if err != nil {
		return false, err
	}
	l.key = l.epochKey(last + 1)
	err = l.b.put(ctx, l.key, raw, true)
	if l.b.store.drv.taken(err) { // by another, or by an attempt of ours whose answer was lost
		rec, rerr := l.read(ctx, last+1)
		if errors.Is(rerr, fs.ErrNotExist) {
			return false, nil
		}
		if rerr != nil || rec.Token != l.mu.rec.Token {
			return false, rerr
		}
		err = nil
	}
	if err != nil {
		return false, l.b.fail("lock", l.key, err)
	}
	epochs, err := l.epochs(ctx)
	if err != nil {
		return false, errors.Join(err, l.b.delete(context.WithoutCancel(ctx), l.key))
	}
	held := len(epochs) > 0 && epochs[len(epochs)-1] == last+1
	if last == 0 {
		held = held && len(epochs) == 1
	} else {
		held = held && len(epochs) > 1 && epochs[len(epochs)-2] == last
	}
	if !held {
		return false, l.b.delete(ctx, l.key)
	}
	l.mu.alive = begin
	for _, n := range epochs[:len(epochs)-1] {
		if err := l.b.delete(ctx, l.epochKey(n)); err != nil {
			return false, errors.Join(err, l.b.delete(ctx, l.key))
		}
	}
	return true, nil
}

// renewals renews the lease until ctx ends or it is lost.
func (l *lease) renewals(ctx context.Context) {
	tick := time.NewTicker(l.times.renew)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if l.renew(ctx) {
			return
		}
	}
}

// renew writes the lease object once more. It reports whether the lease is lost; what fails otherwise is tried again at the next tick.
func (l *lease) renew(ctx context.Context) (lost bool) {
	begin := time.Now().Round(0)
	ctx, cancel := context.WithTimeout(ctx, l.times.fence)
	defer cancel()
	l.mu.Lock()
	rec := l.mu.rec
	l.mu.Unlock()
	epochs, err := l.epochs(ctx)
	if err != nil {
		return false
	}
	if n := len(epochs); n == 0 || epochs[n-1] != rec.Epoch {
		l.lose(errors.New("another run took it over"))
		return true
	}
	rec.Beat++
	raw, err := json.Marshal(rec)
	if err != nil || l.b.put(ctx, l.key, raw, false) != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.rec, l.mu.alive = rec, begin
	return false
}

func (l *lease) lose(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.lost = why
}

// check reports an error if the lease is not surely held any more.
func (l *lease) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.lost != nil {
		return fmt.Errorf("change %s: the lease on it is lost (%w); nothing more is written: run the same command again", l.b.url(l.s.root), l.mu.lost)
	}
	if age := time.Now().Round(0).Sub(l.mu.alive); age > l.times.fence {
		return fmt.Errorf("change %s: the lease on it could not be renewed for %s, so another run may hold it; nothing more is written: run the same command again",
			l.b.url(l.s.root), age.Round(time.Second))
	}
	return nil
}

// release ends the lease.
func (l *lease) release() error {
	l.stop()
	l.beater.Wait()
	l.s.d.held.CompareAndSwap(l, nil)
	l.mu.Lock()
	lost := l.mu.lost != nil
	l.mu.Unlock()
	if lost {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	return l.b.delete(ctx, l.key)
}
