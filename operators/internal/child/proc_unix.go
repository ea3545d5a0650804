//go:build unix

package child

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts a program. It has a socket to us at file descriptor 3, and at 4 a pipe that ends when we do.
func Start(l Launch) (*Proc, error) {
	p := &Proc{Launch: l, done: make(chan struct{}), said: make(chan struct{}), logs: &logs{log: l.Log, what: l.What, isGo: l.IsGo}}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	conn, sock, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("connect to process: %w", err)
	}
	theirs = append(theirs, sock)
	p.wire.conn = conn
	lifeR, lifeW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to process: %w", err), conn.Close())
	}
	p.life, theirs = lifeW, append(theirs, lifeR)
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to process: %w", err), conn.Close(), lifeW.Close())
	}
	p.out, theirs = outR, append(theirs, outW)
	p.cmd = exec.Command(l.Program, l.Args...) //nolint:gosec // the interpreter that the user named, or this program
	p.cmd.Env = append(os.Environ(), l.Env...)
	p.cmd.Stdout, p.cmd.Stderr = outW, outW
	p.cmd.ExtraFiles = []*os.File{sock, lifeR}
	p.cmd.SysProcAttr = attributes()
	if err := p.run(); err != nil {
		return nil, errors.Join(err, conn.Close(), lifeW.Close(), outR.Close())
	}
	p.Pid = p.cmd.Process.Pid
	p.logs.pid = p.Pid
	p.owned.Go(func() {
		defer close(p.said)
		p.logs.read(outR)
	})
	return p, nil
}

// run starts the process and a goroutine that waits for its end. The kernel ends the process when the thread that started it ends, so that goroutine
// keeps its thread to itself.
func (p *Proc) run() error {
	begun := make(chan error, 1)
	p.owned.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		begun <- err
		if err != nil {
			close(p.done)
			return
		}
		waitEnd(p.cmd.Process.Pid)
		p.killGroup() // while the process is still a zombie, so that the number is its own
		_ = p.cmd.Wait()
		close(p.done)
	})
	return <-begun
}

// kill ends the process and those that it started.
func (p *Proc) kill() {
	select {
	case <-p.done:
	default:
		p.killGroup()
	}
}

func (p *Proc) killGroup() { _ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) }

// socketPair makes a connection: our end, and the file of the other.
func socketPair() (*net.UnixConn, *os.File, error) {
	syscall.ForkLock.RLock() // so that no process started meanwhile inherits them
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "host"), os.NewFile(uintptr(fds[1]), "engine")
	defer ours.Close() // FileConn made its own
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("the connection is %T", c), c.Close(), theirs.Close())
	}
	return u, theirs, nil
}

// exitText says how a process ended, and under which class that is counted.
func exitText(s *os.ProcessState) (text, class string) {
	if s == nil {
		return "the process ended", "process"
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		sig := ws.Signal()
		text = fmt.Sprintf("the process was killed by signal %d (%s)", int(sig), sig)
		if sig == syscall.SIGKILL {
			text += "; perhaps by the system, for want of memory"
		}
		return text, fmt.Sprintf("process killed (%s)", unix.SignalName(sig))
	}
	return fmt.Sprintf("the process ended with status %d in the middle of a call", s.ExitCode()), "process ended"
}
