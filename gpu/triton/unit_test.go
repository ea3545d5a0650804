package triton

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-data/sluice/gpu"
)

type atomicInt = atomic.Int64

// asideNow counts the slots that are aside.
func (s *slots) asideNow() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.aside
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]address{
		"triton://h:9/m":            {"h:9", "m", ""},
		"grpc://h:8001/m?version=2": {"h:8001", "m", "2"},
		"triton://h/m":              {"h:8001", "m", ""},
		"h:8001":                    {"h:8001", "", ""},
		"[::1]:8001":                {"[::1]:8001", "", ""},
		"triton://[::1]/m":          {"[::1]:8001", "m", ""},
	} {
		if got, err := parseAddress(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, words := range map[string]string{
		"http://h/m":                 `the scheme is "http"`,
		"triton:///m":                "there is no host",
		"triton://u:p@h/m":           "use a token",
		"triton://h/a/b":             "has a slash",
		"triton://h/m?v=1":           `unknown option "v"`,
		"triton://h/m?version=1#top": "fragment",
		"triton://h:x/m":             "invalid port",
	} {
		if _, err := parseAddress(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", text, err, words)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, f := range map[string]func() (gpu.Model, error){
		"no model":       func() (gpu.Model, error) { return Open("triton://h:1", gpu.Options{}) },
		"two versions":   func() (gpu.Model, error) { return Open("triton://h:1/m?version=1", gpu.Options{Version: "2"}) },
		"token in clear": func() (gpu.Model, error) { return Open("triton://example.org:1/m", gpu.Options{Token: "secret"}) },
	} {
		_, err := f()
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []gpu.Options{{Token: "t", TLS: true}, {TLS: true}, {}} {
		m, err := Open("triton://example.org:1/m", o) // reaches for no network
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestClosedModel(t *testing.T) {
	m, err := open("127.0.0.1:1/m", gpu.Options{}, messageLimit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Info(t.Context()); classOf(err) != transient {
		t.Errorf("nobody listens: %v", err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.Infer(t.Context(), &gpu.Request{}); classOf(err) != fatal {
		t.Errorf("a closed model: %v", err)
	}
}

func TestLoadFromCounters(t *testing.T) {
	var l loads
	at := time.Unix(1000, 0)
	step := func(after time.Duration, n uint64, queue, spent time.Duration, inFlight int) gpu.Load {
		at = at.Add(after)
		return l.next(counters{at, n, queue, spent}, inFlight, 2)
	}
	for i, tc := range []struct{ got, want gpu.Load }{
		{step(0, 10, 20*time.Millisecond, 50*time.Millisecond, 5), gpu.Load{Running: 2, Waiting: 3, QueueTime: 2 * time.Millisecond, ComputeTime: 5 * time.Millisecond}},
		// In a second 1000 requests that waited 1 ms and took 4 ms: four at work, one waiting.
		{step(time.Second, 1010, 1020*time.Millisecond, 4050*time.Millisecond, 5), gpu.Load{Running: 4, Waiting: 1, QueueTime: time.Millisecond, ComputeTime: 4 * time.Millisecond}},
		{step(time.Millisecond, 1011, 1021*time.Millisecond, 4054*time.Millisecond, 5), gpu.Load{Running: 4, Waiting: 1, QueueTime: time.Millisecond, ComputeTime: 4 * time.Millisecond}},
		// Two requests of 1.5 s end in a window of a second: two were at work, not three.
		{step(time.Second, 1012, 1021*time.Millisecond, 7054*time.Millisecond, 1), gpu.Load{Running: 2, ComputeTime: 1502 * time.Millisecond, QueueTime: 500 * time.Microsecond}},
		// Restarted.
		{step(time.Second, 1, 0, 8*time.Millisecond, 1), gpu.Load{Running: 1, ComputeTime: 8 * time.Millisecond}},
		{step(time.Second, 1, 0, 8*time.Millisecond, 0), gpu.Load{ComputeTime: 8 * time.Millisecond}},
	} {
		if tc.got != tc.want {
			t.Errorf("reading %d is %+v, want %+v", i, tc.got, tc.want)
		}
	}
	if got := l.corrected(2); got != 4 {
		t.Errorf("parallelism is corrected to %d, want 4", got)
	}
}

func TestLoad(t *testing.T) {
	m := openModel(t, shared(t), "ident_INT8", gpu.Options{})
	resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{{Name: "x", Type: gpu.Int8, Shape: []int64{1, 1}, Data: []byte{1}}}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Release()
	l, err := m.Load(t.Context())
	if err != nil || l.ComputeTime != 5*time.Millisecond || l.QueueTime != 2*time.Millisecond || l.Running != 0 {
		t.Errorf("load is %+v, %v", l, err)
	}
}
