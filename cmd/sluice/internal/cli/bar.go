package cli

import (
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// barAfter is how long a run goes on before the live line appears: short runs should not flicker.
const barAfter = 400 * time.Millisecond

// bar is a live line at the bottom of a terminal.
type bar struct {
	done chan struct{}
	once sync.Once
	wg   sync.WaitGroup
}

func startBar(out io.Writer, look *lookout) display {
	b := &bar{done: make(chan struct{})}
	start := time.Now()
	b.wg.Go(func() {
		late := time.NewTimer(barAfter)
		defer late.Stop()
		select {
		case <-b.done:
			return
		case <-late.C:
		}
		p := mpb.New(mpb.WithOutput(out), mpb.WithRefreshRate(200*time.Millisecond), mpb.WithAutoRefresh())
		line := p.New(0, mpb.SpinnerStyle().PositionLeft(), mpb.BarRemoveOnComplete(), mpb.BarWidth(2),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
				text := elapsed(time.Since(start))
				if r, ok := look.snapshot(); ok {
					text += " · " + progressText(r)
				}
				return text
			})))
		<-b.done
		line.Abort(true)
		p.Wait()
	})
	return b
}

func (b *bar) stop() {
	b.once.Do(func() { close(b.done) })
	b.wg.Wait()
}
