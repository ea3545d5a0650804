package tritontest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton"
)

const (
	// startWithin is how long a server may take until it is ready, its models included.
	startWithin = 90 * time.Second
	// stopWithin is how long it may take to end before it is killed.
	stopWithin = 15 * time.Second
	pollEvery  = 50 * time.Millisecond
)

// Server is a running model server.
type Server struct {
	Host string // host:port of gRPC
	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{}
	tb   testing.TB
}

// logBuffer holds what a server prints.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buf.Bytes()
	return string(b[max(0, len(b)-4000):])
}

// Root returns the root folder of the module.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	tb.Fatal("there is no go.mod above the working folder")
	return ""
}

// Venv returns the folder of a server's virtual environment, or fails the test naming the command that makes it.
func Venv(tb testing.TB, name string) string {
	tb.Helper()
	dir := filepath.Join(Root(tb), ".cache", "server-"+name)
	if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
		tb.Fatalf("%s is not installed: run hack/servers/install.sh (%v)", name, err)
	}
	return dir
}

// Ports finds free ports.
func Ports(tb testing.TB, n int) []string {
	tb.Helper()
	var list []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer l.Close()
		list = append(list, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return list
}

// Triton starts a Triton server on a model repository. The server ends with the test.
func Triton(tb testing.TB, repository string, flags ...string) *Server {
	tb.Helper()
	return TritonAt(tb, repository, Ports(tb, 3), flags...)
}

// TritonAt is Triton on given ports: of HTTP, gRPC and metrics.
func TritonAt(tb testing.TB, repository string, ports []string, flags ...string) *Server {
	tb.Helper()
	Venv(tb, "triton")
	args := append([]string{repository, tb.TempDir(), ports[0], ports[1], ports[2]}, flags...)
	cmd := exec.Command(filepath.Join(Root(tb), "hack", "servers", "triton.sh"), args...)
	return run(tb, cmd, ports[1])
}

// MLServer starts an MLServer on a folder of models.
func MLServer(tb testing.TB, folder string) *Server {
	tb.Helper()
	p := Ports(tb, 3)
	settings := fmt.Sprintf(`{"debug": false, "host": "127.0.0.1", "http_port": %s, "grpc_port": %s, "metrics_port": %s,
		"grpc_max_message_length": 67108864, "parallel_workers": 0}`, p[0], p[1], p[2])
	if err := os.WriteFile(filepath.Join(folder, "settings.json"), []byte(settings), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(Venv(tb, "mlserver"), "bin", "mlserver"), "start", folder)
	cmd.Dir = folder
	return run(tb, cmd, p[1])
}

// KServe starts a Python program that serves with KServe's library; it is given the ports of HTTP and gRPC.
func KServe(tb testing.TB, program string) *Server {
	tb.Helper()
	p := Ports(tb, 2)
	return run(tb, exec.Command(filepath.Join(Venv(tb, "kserve"), "bin", "python"), program, p[0], p[1]), p[1])
}

// run starts a server in a process group of its own and waits until it is ready.
func run(tb testing.TB, cmd *exec.Cmd, port string) *Server {
	tb.Helper()
	s := &Server{Host: "127.0.0.1:" + port, cmd: cmd, log: &logBuffer{}, done: make(chan struct{}), tb: tb}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(s.done)
	}()
	tb.Cleanup(s.Stop)
	if err := s.waitReady(); err != nil {
		tb.Fatalf("start %s: %v\n%s", filepath.Base(cmd.Path), err, s.log.tail())
	}
	return s
}

func (s *Server) waitReady() error {
	c, err := triton.Dial(s.Host, gpu.Options{Timeout: 5 * time.Second})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := c.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			return errors.New("it ended")
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// Stop ends the server, and whatever it started.
func (s *Server) Stop() {
	s.Continue() // a paused one would not hear the other
	s.signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(stopWithin):
	}
	s.Kill()
}

// Kill ends the server as kill -9 does.
func (s *Server) Kill() {
	s.signal(syscall.SIGKILL)
	<-s.done
}

// signal reaches the whole process group: Triton's models are processes of their own.
func (s *Server) signal(sig syscall.Signal) { _ = syscall.Kill(-s.cmd.Process.Pid, sig) }

// Pause stops the server where it is: it keeps its connections and answers nothing, until Continue. The processes of Triton's models run on: a server whose
// locks they share aborts when they were stopped too.
func (s *Server) Pause() { _ = syscall.Kill(s.cmd.Process.Pid, syscall.SIGSTOP) }

// Continue ends what Pause began.
func (s *Server) Continue() { _ = syscall.Kill(s.cmd.Process.Pid, syscall.SIGCONT) }

// Log returns the end of what the server printed.
func (s *Server) Log() string { return s.log.tail() }
