package gputest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// Server is a running conformance server: the open inference protocol on the official stubs, with models that do one wrong thing each
// (gpu/triton/testdata/server.py). Whoever starts it ends it.
type Server struct {
	Port int
	cmd  *exec.Cmd
}

// Serve starts a conformance server with a Python interpreter that has tritonclient.grpc.
func Serve(tb testing.TB, python string, args ...string) *Server {
	tb.Helper()
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		tb.Fatal("start conformance server: the binary does not know its sources")
	}
	script := filepath.Join(filepath.Dir(here), "..", "triton", "testdata", "server.py")
	cmd := exec.Command(python, append([]string{script}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start conformance server: %v", err)
	}
	s := &Server{cmd: cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		s.Port, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		s.Kill()
		tb.Fatalf("start conformance server: read its port: %v", err)
	}
	return s
}

// Host is where it serves, as host:port.
func (s *Server) Host() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

// Kill ends the server as kill -9 does.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended before
	_ = s.cmd.Wait()
}
