package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"
)

// shell is an interactive shell on a pseudo terminal, with sluice on its path.
type shell struct {
	t    *testing.T
	vt   vt10x.Terminal
	ours *os.File
}

func startShell(t *testing.T, dir, name string, args ...string) *shell {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if name == "bash" || os.Getenv("SLUICE_REQUIRE_SHELLS") != "" {
			t.Fatalf("%s is needed: %v", name, err)
		}
		t.Skipf("%s is not installed", name)
	}
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\"\n", asProgram, os.Args[0])
	if err := os.WriteFile(filepath.Join(bin, "sluice"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
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
	if err := unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), path, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TERM=xterm", "PS1=ready> ", "PROMPT=ready> ", "HOME="+bin, "XDG_CONFIG_HOME="+bin, "HISTFILE=")
	c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	s := &shell{t: t, vt: vt10x.New(vt10x.WithSize(120, 40)), ours: ours}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(s.vt, ours) // ends with EIO when the shell has gone
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		<-ended
		_ = ours.Close()
	})
	return s
}

func (s *shell) send(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.ours, text); err != nil {
		s.t.Fatal(err)
	}
}

// await waits until the screen holds a text.
func (s *shell) await(want string) {
	s.t.Helper()
	late := time.NewTimer(30 * time.Second)
	defer late.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(s.vt.String(), want) {
		select {
		case <-tick.C:
		case <-late.C:
			s.t.Fatalf("the screen never shows %q:\n%s", want, s.vt.String())
		}
	}
}

// TestCompletionInShells types the beginning of words into real shells, and the key that completes them.
func TestCompletionInShells(t *testing.T) {
	for _, sh := range []struct {
		name  string
		args  []string
		setup string
	}{
		{"bash", []string{"--norc", "--noprofile", "-i"}, "bind 'set bell-style none'; source <(sluice completion bash); echo set''up\n"},
		{"zsh", []string{"-f", "-i"}, "unsetopt beep; autoload -U compinit; compinit -u -D; source <(sluice completion zsh); echo set''up\n"},
		{"fish", []string{"--no-config", "-i"}, "sluice completion fish | source; echo set''up\n"},
	} {
		t.Run(sh.name, func(t *testing.T) {
			s := startShell(t, events(t, 3), sh.name, sh.args...)
			s.send(sh.setup)
			s.await("setup ")
			for _, tt := range []struct{ typed, want string }{
				{"sluice expl", "sluice explain"},
				{"sluice 'eve", "'events.jsonl"},
				{"sluice 'events.jsonl | repa", "| repartition"},
				{"sluice 'events.jsonl | with twice = score * 2 | where twi", "| where twice"}, // a column that a step made
				{"sluice 'events.jsonl | select id, sco", "| select id, score"},
				{"sluice 'events.jsonl | out/ compr", "| out/ compression="},
			} {
				s.send(tt.typed + "\t")
				s.await(tt.want)
				s.send("\x15") // forget the line
			}
		})
	}
}

// TestCompletionLists asks as the scripts do.
func TestCompletionLists(t *testing.T) {
	dir := events(t, 3)
	for _, tt := range []struct {
		name string
		word string
		want []string
		not  string
	}{
		{"steps", "'events.jsonl | re", []string{"rename  (give", "repartition  (", "resize  ("}, "where"},
		{"columns and functions", "'events.jsonl | where l", []string{"lang  (string)", "length(  (", "lower(  ("}, "score"},
		{"columns", "'events.jsonl | sort ", []string{"id  (int64)", "lang  (string)"}, "where"},
		{"columns behind a select", "'events.jsonl | select id, lang | drop ", []string{"id  (int64)", "lang  (string)"}, "score"},
		{"options of a step", "'events.jsonl | download ", []string{"timeout=  (", "max_bytes=  ("}, "column="},
		{"options not given yet", "'events.jsonl | download url timeout=3s ", []string{"max_bytes=  ("}, "timeout="},
		{"options of a reader", "'events.jsonl ", []string{"schema=  (types", "mixed=  ("}, "events"},
		{"a pipe within quotes", "'events.jsonl | where text == \"a | re", nil, "resize"},
		{"a source that is gone", "'none.jsonl | sort ", nil, "id"},
		{"a closed word", "'events.jsonl'", nil, "events"},
		{"flags", "--on-", []string{"--on-error"}, "--quiet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, _, code := run(t, dir, "", "__words", "bash", "63", "sluice "+tt.word, tt.word)
			if code != 0 {
				t.Fatalf("code %d", code)
			}
			for _, w := range tt.want {
				if !strings.Contains(stdout, w) {
					t.Errorf("it lacks %q:\n%s", w, stdout)
				}
			}
			if strings.Contains(stdout, tt.not) || tt.want == nil && stdout != "" {
				t.Errorf("it has %q, or more than nothing:\n%s", tt.not, stdout)
			}
		})
	}
	if stdout, _, code := run(t, dir, "", "completion", "tcsh"); code != 2 || stdout != "" {
		t.Errorf("a shell without a script: code %d, %s", code, stdout)
	}
}
