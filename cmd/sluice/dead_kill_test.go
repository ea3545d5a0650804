package main

import (
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
	dir := t.TempDir()
	var rows, dead []string
	for f := range 8 {
		var b strings.Builder
		name := fmt.Sprintf("in/%d.jsonl", f)
		for i := range 15_000 {
			n := f*15_000 + i
			switch {
			case n%1000 == 7:
				dead = append(dead, fmt.Sprintf("%s@%d[] value is no int64", name, b.Len()))
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
	rounds := 2
	if os.Getenv("SLUICE_CHAOS") != "" {
		rounds = 40
	}
	kills := 0
	for _, kind := range [][]string{{"a.jsonl"}, {"b/", "--to", "jsonl"}, {"c/", "--to", "jsonl", "--ordered", "--seed", "1"}, {"d/", "--to", "jsonl", "--ordered"}} {
		for round := range rounds {
			r := rand.New(rand.NewPCG(3, uint64(round)))
			target := fmt.Sprint(round) + kind[0]
			args := append([]string{"--quiet", "--on-error", "dead-letter", "--commit-every", "10ms", "--part-size", "300kB", "--parallel",
				fmt.Sprint(1 + r.IntN(4)), "in/*.jsonl | with q = int(t) | " + target}, kind[1:]...)
			for range 3 {
				c := command(t, dir, args...)
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				timer := time.AfterFunc(time.Duration(20+r.IntN(250))*time.Millisecond, func() { _ = c.Process.Kill() })
				if err := c.Wait(); err != nil && !c.ProcessState.Exited() {
					kills++
				}
				timer.Stop()
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
		}
	}
	if kills == 0 {
		t.Error("no run was killed: the test shows nothing")
	}
	t.Logf("%d kills", kills)
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
			timer := time.AfterFunc(time.Duration(60+60*i)*time.Millisecond, func() { _ = c.Process.Kill() })
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
