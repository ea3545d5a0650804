package cli

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

const (
	liveAfter = 400 * time.Millisecond // short runs should not flicker
	liveEvery = 200 * time.Millisecond
)

// live is a picture of the run at the bottom of a terminal, drawn anew several times a second.
type live struct {
	out    io.Writer
	done   chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
	bars   *mpb.Progress // nil before it appears and after it went
	barsMu sync.Mutex    // guards bars, and writes to out while bars is nil
}

// startLive shows the run on out, a terminal whose size the function tells.
func startLive(out io.Writer, size func() (width, height int), look *lookout) *live {
	l := &live{out: out, done: make(chan struct{})}
	start := time.Now()
	l.wg.Go(func() {
		late := time.NewTimer(liveAfter)
		defer late.Stop()
		select {
		case <-l.done:
			return
		case <-late.C:
		}
		scr := &canvas{out: out, size: size, reflows: reflows(os.Getenv)}
		p := mpb.New(mpb.WithConsoleWriter(scr), mpb.WithRefreshRate(liveEvery), mpb.WithAutoRefresh())
		picture := mpb.BarFillerFunc(func(w io.Writer, _ decor.Statistics) error {
			width, height := size()
			r, ok := look.snapshot()
			return writePicture(w, r, ok, time.Since(start), width, height)
		})
		bar, err := p.Add(0, picture, mpb.BarFillerTrim(), mpb.BarRemoveOnComplete())
		if err != nil {
			return
		}
		l.barsMu.Lock()
		l.bars = p
		l.barsMu.Unlock()
		<-l.done
		l.barsMu.Lock()
		defer l.barsMu.Unlock()
		l.bars = nil
		bar.Abort(true)
		p.Wait()
		scr.erase()
	})
	return l
}

// say writes text above the picture; it appears at once or with the next drawing.
func (l *live) say(text string) {
	l.barsMu.Lock()
	defer l.barsMu.Unlock()
	if l.bars != nil {
		if _, err := l.bars.Write([]byte(text)); err == nil {
			return
		}
	}
	_, _ = io.WriteString(l.out, text)
}

func (l *live) stop() {
	l.once.Do(func() { close(l.done) })
	l.wg.Wait()
}

// Sizes that are assumed where a terminal does not say, and the least that is drawn for.
const (
	assumedWidth  = 80
	assumedHeight = 24
	leastWidth    = 20
)

// terminalSize asks a terminal for its size.
func terminalSize(f *os.File) func() (width, height int) {
	return func() (int, int) {
		w, h, err := term.GetSize(int(f.Fd()))
		if err != nil || w <= 0 || h <= 0 {
			return assumedWidth, assumedHeight
		}
		return w, h
	}
}
