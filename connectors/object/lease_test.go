//go:build objects

package object

import (
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/object/objecttest"
	"github.com/sluice-data/sluice/dataset"
)

// quick is a lease in quick motion.
var quick = leaseTimes{renew: 20 * time.Millisecond, poll: 10 * time.Millisecond, fence: 300 * time.Millisecond, dead: 600 * time.Millisecond}

func (p *place) locker(t *testing.T) (*disk, dataset.Storage) {
	t.Helper()
	d, _ := p.disk(t, "out/")
	d.times = quick
	return d, d.Storage("/out/_sluice")
}

// TestLease: one holder at a time; the second is told who it is; releasing leaves nothing.
func TestLease(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		p := newPlace(t, at, nil)
		d, st := p.locker(t)
		release, err := st.Lock(t.Context(), "lock", []byte("the first\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, other := p.locker(t)
		_, err = other.Lock(t.Context(), "lock", []byte("the second"))
		if held, ok := errors.AsType[*dataset.LockedError](err); !ok || held.Owner != "the first" || !strings.HasSuffix(held.Name, "out/_sluice/lock") {
			t.Fatalf("the second: %v", err)
		}
		if err := d.guard(); err != nil {
			t.Error(err)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
		if names, err := st.List(t.Context(), ""); err != nil || len(names) > 0 {
			t.Errorf("left: %q, %v", names, err)
		}
		if release, err = other.Lock(t.Context(), "lock", []byte("the second")); err != nil {
			t.Fatal(err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	})
}

// plant writes a lease object as another process would.
func (p *place) plant(t *testing.T, epoch uint64, change func(*leaseRecord)) {
	t.Helper()
	rec := thisProcess()
	rec.Format, rec.Epoch, rec.Token, rec.Owner = leaseFormat, epoch, "x", "somebody"
	change(&rec)
	raw, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	l := lease{folder: "out/_sluice/lock" + leaseFolder + "/"}
	p.put(t, map[string]string{l.epochKey(epoch): string(raw)})
}

// TestTakeover: the lease of a dead process of this machine is taken at once, that of a silent one elsewhere after a while, and that
// of one elsewhere that renews it not at all.
func TestTakeover(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		cmd := exec.Command("true")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		t.Run("dead here", func(t *testing.T) {
			p := newPlace(t, at, nil)
			p.plant(t, 7, func(r *leaseRecord) { r.PID = cmd.Process.Pid })
			d, st := p.locker(t)
			d.times.dead = time.Hour
			release, err := st.Lock(t.Context(), "lock", nil)
			if err != nil {
				t.Fatal(err)
			}
			if l := d.held.Load(); l.mu.rec.Epoch != 8 {
				t.Errorf("epoch %d", l.mu.rec.Epoch)
			}
			if err := release(); err != nil {
				t.Error(err)
			}
		})
		t.Run("another process of that id", func(t *testing.T) {
			p := newPlace(t, at, nil)
			p.plant(t, 1, func(r *leaseRecord) { r.Start = "1" })
			d, st := p.locker(t)
			d.times.dead = time.Hour
			release, err := st.Lock(t.Context(), "lock", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := release(); err != nil {
				t.Error(err)
			}
		})
		t.Run("silent elsewhere", func(t *testing.T) {
			p := newPlace(t, at, nil)
			p.plant(t, 1, func(r *leaseRecord) { r.Boot = "another" })
			begin := time.Now()
			_, st := p.locker(t)
			var said []string
			ctx := dataset.WithNotices(t.Context(), func(text string) { said = append(said, text) })
			release, err := st.Lock(ctx, "lock", nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took < quick.dead {
				t.Errorf("taken over after %s", took)
			}
			if len(said) != 1 || !strings.Contains(said[0], "waiting up to 600ms to see whether it is alive") {
				t.Errorf("said %q while it waited", said)
			}
			if err := release(); err != nil {
				t.Error(err)
			}
		})
		t.Run("alive elsewhere", func(t *testing.T) {
			p := newPlace(t, at, nil)
			_, st := p.locker(t)
			release, err := st.Lock(t.Context(), "lock", []byte("alive"))
			if err != nil {
				t.Fatal(err)
			}
			l := st.(*storage).d.held.Load()
			l.mu.Lock()
			l.mu.rec.Boot = "another" // the next renewal tells so
			l.mu.Unlock()
			if l.renew(t.Context()) {
				t.Fatal("lost")
			}
			_, other := p.locker(t)
			if _, err := other.Lock(t.Context(), "lock", nil); err == nil || !strings.Contains(err.Error(), "alive") {
				t.Errorf("%v", err)
			}
			if err := release(); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestLost: a holder whose lease was taken over, or that cannot renew it, changes nothing more.
func TestLost(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		t.Run("taken over", func(t *testing.T) {
			p := newPlace(t, at, nil)
			d, st := p.locker(t)
			release, err := st.Lock(t.Context(), "lock", nil)
			if err != nil {
				t.Fatal(err)
			}
			p.plant(t, 2, func(*leaseRecord) {})
			d.held.Load().beater.Wait() // it ends when the lease is lost
			for name, err := range map[string]error{"create": st.Create(t.Context(), "x", nil), "replace": st.Replace(t.Context(), "x", nil),
				"rename": d.Rename("/a", "/b"), "remove": d.Remove("/a")} {
				if err == nil || !strings.Contains(err.Error(), "another run took it over") {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := release(); err != nil {
				t.Error(err)
			}
		})
		t.Run("cut off", func(t *testing.T) {
			p := newPlace(t, at, nil)
			d, st := p.locker(t)
			release, err := st.Lock(t.Context(), "lock", nil)
			if err != nil {
				t.Fatal(err)
			}
			l := d.held.Load()
			p.Set(func(*http.Request) objecttest.Fault { return objecttest.Fault{Status: 403} })
			l.mu.Lock()
			l.mu.alive = time.Now().Add(-time.Hour)
			l.mu.Unlock()
			if err := st.Create(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "could not be renewed") {
				t.Errorf("%v", err)
			}
			p.Set(nil)
			if err := release(); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestRace: of many that want a lease, and of many that want to take over a dead one, never do two hold it.
func TestRace(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		for _, dead := range []bool{false, true} {
			p := newPlace(t, at, nil)
			if dead {
				p.plant(t, 3, func(r *leaseRecord) { r.Start = "1" })
			}
			var holders, got atomic.Int64
			var wg sync.WaitGroup
			for range 12 {
				_, st := p.locker(t)
				wg.Go(func() {
					for range 4 {
						release, err := st.Lock(t.Context(), "lock", nil)
						if _, locked := errors.AsType[*dataset.LockedError](err); locked {
							continue
						}
						if err != nil {
							t.Error(err)
							return
						}
						if n := holders.Add(1); n > 1 {
							t.Errorf("%d hold the lease", n)
						}
						got.Add(1)
						holders.Add(-1)
						if err := release(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if got.Load() == 0 {
				t.Error("nobody ever held it")
			}
		}
	})
}
