package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestKillWithDeadLetters: whatever a kill leaves, the next run has exactly the rows and exactly the dead letters.
func TestKillWithDeadLetters(t *testing.T) {
	rounds, perFile, least := 2, 40_000, 0
	if os.Getenv("SLUICE_CHAOS") != "" {
		rounds, perFile, least = 12, 40_000, 1
	}
	dir := t.TempDir()
	var rows, dead []string
	for f := range 8 {
		var b strings.Builder
		name := fmt.Sprintf("in/%d.jsonl", f)
		for i := range perFile {
			n := f*perFile + i
			switch {
			case n%1000 == 7:
				dead = append(dead, fmt.Sprintf("%s@%d[] malformed JSON", name, b.Len()))
				b.WriteString("{\"n\":oops}\n")
			case n%1000 == 500:
				dead = append(dead, fmt.Sprintf("%s@%d[] the value does not fit; try_cast gives null instead", name, b.Len()))
				fmt.Fprintf(&b, "{\"n\":%d,\"t\":\"x\"}\n", n)
			default:
				rows = append(rows, fmt.Sprintf(`{"n":%d,"t":"%d","q":%d}`, n, n%10, n%10))
				fmt.Fprintf(&b, "{\"n\":%d,\"t\":\"%d\"}\n", n, n%10)
			}
		}
		write(t, filepath.Join(dir, name), b.String())
	}
	slices.Sort(rows)
	slices.Sort(dead)
	kills, resumed := 0, 0
	for _, kind := range [][]string{{"a.jsonl"}, {"b/", "--to", "jsonl"}, {"c/", "--to", "jsonl", "--ordered", "--seed", "1"}, {"d/", "--to", "jsonl", "--ordered"}} {
		for round := range rounds {
			r := rand.New(rand.NewPCG(3, uint64(round)))
			target := fmt.Sprint(round) + kind[0]
			args := append([]string{"--quiet", "--on-error", "dead-letter", "--commit-every", "5ms", "--part-size", "300kB", "--parallel",
				fmt.Sprint(1 + r.IntN(4)), "in/*.jsonl | with q = int(t) | " + target}, kind[1:]...)
			for try := range 3 {
				// The first kill falls at once, so that a fast machine has not ended the run before it.
				if killed(t, dir, target, time.Duration(try*r.IntN(20))*time.Millisecond, args) {
					kills++
				}
			}
			if _, stderr, code := run(t, dir, "", args...); code != 3 && code != 0 {
				t.Fatalf("%s: code %d, %s", target, code, stderr)
			}
			if got := column(t, dir, strings.TrimSuffix(target, "/")); !slices.Equal(got, rows) {
				t.Fatalf("%s: %d rows after the kills, want %d", target, len(got), len(rows))
			}
			if got := letters(t, dir, target); !slices.Equal(got, dead) {
				t.Fatalf("%s: %d dead letters after the kills, want %d", target, len(got), len(dead))
			}
			if wentOn(t, dir, target) {
				resumed++
			}
		}
	}
	if kills == 0 || resumed < least {
		t.Errorf("%d kills, %d runs went on: the test shows nothing", kills, resumed)
	}
	t.Logf("%d kills, %d runs went on", kills, resumed)
}

// killed runs a command and kills it a while after it has committed dead letters, and tells whether it was still at work.
func killed(t *testing.T, dir, target string, after time.Duration, args []string) bool {
	t.Helper()
	return killedAt(t, dir, func() int {
		names, err := filepath.Glob(filepath.Join(stateOf(dir, target), "*", "dead", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}, 1, after, args)
}

// killedAt is killed with a count of the segments of dead letters, and with how many to wait for.
func killedAt(t *testing.T, dir string, segments func() int, fresh int, after time.Duration, args []string) bool {
	t.Helper()
	before := segments()
	c := command(t, dir, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-ended:
			return false
		case <-poll.C:
		}
		if segments() >= before+fresh {
			break
		}
	}
	select {
	case <-ended:
		return false
	case <-time.After(after):
	}
	_ = c.Process.Kill()
	<-ended
	return !c.ProcessState.Exited()
}

func stateOf(dir, target string) string {
	if strings.HasSuffix(target, "/") {
		return filepath.Join(dir, target, "_sluice")
	}
	return filepath.Join(dir, "."+target+".sluice")
}

// wentOn tells whether a later attempt finished the run on a target.
func wentOn(t *testing.T, dir, target string) bool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(stateOf(dir, target), "manifest", fmt.Sprintf("%020d.json", 1)))
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Attempt int }
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m.Attempt > 1
}

// TestKillOfRetries: a retry that was killed is begun anew, and its rows come once.
func TestKillOfRetries(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	var want []string
	for n := range 60_000 {
		text, q := fmt.Sprint(n%10), n%10
		if n%3 == 1 {
			text, q = "x", -1
		}
		fmt.Fprintf(&b, "{\"n\":%d,\"t\":\"%s\"}\n", n, text)
		want = append(want, fmt.Sprintf(`{"n":%d,"t":"%s","q":%d}`, n, text, q))
	}
	write(t, filepath.Join(dir, "in.jsonl"), b.String())
	slices.Sort(want)
	kills := 0
	for _, target := range []string{"a.jsonl", "b/"} {
		args := []string{"--quiet", "--to", "jsonl", "--part-size", "200kB", "--commit-every", "10ms"}
		if _, stderr, code := run(t, dir, "", append(args, "--on-error", "dead-letter", "in.jsonl | with q = int(t) | "+target)...); code != 3 {
			t.Fatalf("code %d, %s", code, stderr)
		}
		if n := len(letters(t, dir, target)); n != 20_000 {
			t.Fatalf("%d dead letters", n)
		}
		again := append(args, "retry", target, `in.jsonl | with q = int(t == "x" ? "-1" : t)`)
		for i := range 6 {
			c := command(t, dir, again...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(20+40*i)*time.Millisecond, func() { _ = c.Process.Kill() })
			if err := c.Wait(); err != nil && !c.ProcessState.Exited() {
				kills++
			}
			timer.Stop()
		}
		if _, stderr, code := run(t, dir, "", again...); code != 0 {
			t.Fatalf("code %d, %s", code, stderr)
		}
		if got := column(t, dir, strings.TrimSuffix(target, "/")); !slices.Equal(got, want) {
			t.Fatalf("%s: %d rows after the kills, want %d", target, len(got), len(want))
		}
		if got := letters(t, dir, target); len(got) > 0 && got[0] != "" {
			t.Errorf("%s: %d dead letters are left", target, len(got))
		}
	}
	if kills == 0 {
		t.Error("no retry was killed: the test shows nothing")
	}
	t.Logf("%d kills", kills)
}
