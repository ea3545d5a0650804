package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"
)

// TestStatusOnDemand stops a pipeline at its standard input and asks what it waits for.
func TestStatusOnDemand(t *testing.T) {
	c := command(t, t.TempDir(), "- | where id > 0 | out.jsonl")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, strings.Repeat("{\"id\":1}\n", 200_000)); err != nil { // more than the sample: it runs now
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for sc := bufio.NewScanner(errs); sc.Scan(); {
		said.WriteString(sc.Text() + "\n")
		if strings.Contains(sc.Text(), "memory in use") || strings.Contains(sc.Text(), "has not begun") {
			in.Close()
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	for _, want := range []string{"sluice: after ", "  read jsonl", "  where", "  write jsonl", "busy; read", "wrote 200,000 rows"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, said.String())
		}
	}
}

// TestLivePictureOfARealRun looks at the screen while a pipeline waits for more input, and after its end.
func TestLivePictureOfARealRun(t *testing.T) {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
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
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := command(t, t.TempDir(), "- | where id > 0 | out.jsonl")
	c.Env = append(c.Env, "TERM=xterm")
	c.Stderr = theirs
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if _, err := io.WriteString(in, strings.Repeat("{\"id\":1}\n", 200_000)); err != nil {
		t.Fatal(err)
	}
	vt := vt10x.New(vt10x.WithSize(100, 24))
	seen, buf := "", make([]byte, 4096)
	for {
		n, err := ours.Read(buf)
		if n > 0 {
			_, _ = vt.Write(buf[:n])
		}
		if s := vt.String(); seen == "" && strings.Contains(s, "where ") && strings.Contains(s, "is the bottleneck") {
			seen = s
			in.Close()
		}
		if err != nil { // the last writer has gone
			break
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, vt.String())
	}
	for _, want := range []string{"read jsonl", "write jsonl", "workers", " of ", "wrote "} {
		if !strings.Contains(seen, want) {
			t.Errorf("the picture lacks %q:\n%s", want, seen)
		}
	}
	end := vt.String()
	if !strings.HasPrefix(end, "read 200,000 rows") || strings.Contains(end, "bottleneck") || strings.Contains(end, "/s") {
		t.Errorf("after the end there is:\n%s", end)
	}
}
