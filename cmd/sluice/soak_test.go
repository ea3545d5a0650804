//go:build soak && linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/cmd/sluice/internal/cli"
	"github.com/sluice-data/sluice/executor"
)

// usage is what the process holds between two rounds.
type usage struct {
	goroutines, files int
	heap, resident    int64
}

// TestSoak runs pipelines in this process, again and again, with the live picture on a pseudo-terminal and metrics that are scraped all the time. What the process holds after a
// round must not grow: goroutines and open files not at all, memory not beyond its noise. SLUICE_SOAK is how long.
func TestSoak(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv("SLUICE_SOAK"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TERM", "xterm")
	dir := photos(t)
	t.Chdir(dir)
	write(t, filepath.Join(dir, "events.jsonl"), soakEvents())
	screen := newScreen(t)
	var all []usage
	begun, told := time.Now(), time.Now()
	for round := 0; time.Since(begun) < long || round < 12; round++ {
		for _, line := range soakLines {
			screen.run(t, line)
		}
		all = append(all, settled())
		if round == 0 || time.Since(told) > long/20 {
			told = time.Now()
			u := all[len(all)-1]
			t.Logf("%s, round %d: %d goroutines, %d files, heap %.1f MB, resident %.1f MB, %d scrapes", time.Since(begun).Round(time.Second), round+1, u.goroutines, u.files,
				float64(u.heap)/1e6, float64(u.resident)/1e6, screen.scrapes)
		}
	}
	warm := all[len(all)/4:] // pools and caches have filled before
	first, last := warm[:len(warm)/3], warm[len(warm)-len(warm)/3:]
	drawn := screen.close()
	t.Logf("%d rounds of %d runs, %d scrapes, %d bytes drawn", len(all), len(soakLines), screen.scrapes, drawn)
	for _, q := range []struct {
		what  string
		of    func(usage) int64
		slack int64
	}{
		{"goroutines", func(u usage) int64 { return int64(u.goroutines) }, 0},
		{"open files", func(u usage) int64 { return int64(u.files) }, 0},
		{"bytes of heap", func(u usage) int64 { return u.heap }, 4 << 20},
		{"bytes resident", func(u usage) int64 { return u.resident }, median(first, func(u usage) int64 { return u.resident })/10 + 16<<20},
	} {
		a, b := median(first, q.of), median(last, q.of)
		t.Logf("%s: median %d, then %d", q.what, a, b)
		if b > a+q.slack {
			t.Errorf("%s grew from %d to %d", q.what, a, b)
		}
	}
	if screen.scrapes < len(all) || drawn < 1000 {
		t.Errorf("%d scrapes, %d bytes drawn: nobody looked", screen.scrapes, drawn)
	}
}

// soakLines are runs of every kind: pictures, rows that fail, a sort that spills, a plan that is analysed, a mistake, a run whose page and events are written.
var soakLines = [][]string{
	{"--on-error=skip", "--overwrite", "photos/**/*.{jpg,png,webp} | decode | where width >= 256 | resize 64x64 | score | encode jpeg 80 | pictures/"},
	{"--overwrite", "--memory=16MiB", "events.jsonl | with len = length(text) | sort score desc, id | sorted.parquet"},
	{"--overwrite", "--on-error=dead-letter", "--report=run.html", "--events=json:events.log", "events.jsonl | with n = int(lang) | select id, n | dead/"},
	{"explain", "--analyze", "events.jsonl | where score > 0.5 | select id"},
	{"events.jsonl | where scroe > 1"},
}

func soakEvents() string {
	var b strings.Builder
	for i := range 60_000 {
		lang := "12"
		if i%500 == 0 {
			lang = "de"
		}
		fmt.Fprintf(&b, `{"id":%d,"text":"%s %d","score":%g,"lang":"%s"}`+"\n", i, strings.Repeat("some words ", 20), i, float64(i*7919%1000)/1000, lang)
	}
	return b.String()
}

// screen is a pseudo-terminal whose other side is read all the time, and which follows the address of metrics that is written to it.
type screen struct {
	ours, theirs, null *os.File

	client  *http.Client
	reader  sync.WaitGroup
	mu      sync.Mutex
	text    string // the last of what was written
	drawn   int
	scrapes int
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	s := &screen{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}}
	if s.theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	s.ours = ours
	s.reader.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			s.mu.Lock()
			s.drawn += n
			s.text += string(buf[:n])
			s.text = s.text[max(0, len(s.text)-8192):]
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return s
}

// close ends the reading and returns how many bytes were written to the terminal.
func (s *screen) close() int {
	s.theirs.Close()
	s.reader.Wait()
	s.ours.Close()
	s.null.Close()
	return s.drawn
}

// run runs one command line with metrics on, and scrapes them until it ends.
func (s *screen) run(t *testing.T, args []string) {
	t.Helper()
	s.mu.Lock()
	s.text = ""
	s.mu.Unlock()
	p := cli.Program{Version: "soak", Open: open, DefaultMemory: executor.DefaultMemory, Stdin: s.null, Stdout: s.null, Stderr: s.theirs, Exit: func(code int) { panic(code) }}
	done := make(chan int)
	go func() { done <- p.Main(context.Background(), append([]string{"--metrics=127.0.0.1:0"}, args...)) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case code := <-done:
			if args[0] == "events.jsonl | where scroe > 1" != (code == 2) || code == 1 {
				s.mu.Lock()
				defer s.mu.Unlock()
				t.Fatalf("%q: exit code %d\n%s", args, code, s.text)
			}
			return
		case <-tick.C:
			s.scrape()
		}
	}
}

var served = regexp.MustCompile(`metrics at (http://[0-9.:]+/metrics)`)

func (s *screen) scrape() {
	s.mu.Lock()
	m := served.FindStringSubmatch(s.text)
	s.mu.Unlock()
	if m == nil {
		return
	}
	res, err := s.client.Get(m[1])
	if err != nil { // the run has just ended
		return
	}
	if _, err := io.Copy(io.Discard, res.Body); err == nil && res.StatusCode == http.StatusOK {
		s.scrapes++
	}
	res.Body.Close()
}

// settled is what the process holds when what a run leaves behind has ended: memory that is free was given back.
func settled() usage {
	debug.FreeOSMemory()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{goroutines: runtime.NumGoroutine(), files: len(files), heap: int64(m.HeapAlloc), resident: resident()}
}

func resident() int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	if err != nil {
		panic(err)
	}
	return pages * int64(os.Getpagesize())
}

func median(all []usage, of func(usage) int64) int64 {
	values := make([]int64, len(all))
	for i, u := range all {
		values[i] = of(u)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
