//go:build linux

package objecttest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Schemes are the kinds of servers there are.
var Schemes = []string{"s3", "gs", "az"}

// Server is a real server of object storage, a child process that dies with this one.
type Server struct {
	Scheme  string
	Address string // host:port
	kind    kind
	cmd     *exec.Cmd
	logs    sync.WaitGroup
	buckets atomic.Int64
}

// kind is what differs between the servers. Keys are those of Sluice; what is read and written goes past Sluice and past any proxy.
type kind interface {
	// command is the program that listens at an address.
	command(address string) (*exec.Cmd, error)
	// environ is what points a process to a server, or a proxy before it, at an address.
	environ(address string) map[string]string
	// create makes a bucket.
	create(bucket string) error
	// keys lists the objects whose keys begin with prefix, in order.
	keys(bucket, prefix string) ([]string, error)
	read(bucket, key string) ([]byte, error)
	write(bucket, key string, data []byte) error
	remove(bucket, key string) error
	// close removes what the server has left.
	close() error
}

// Start starts the server of a scheme, which make test-objects installs below the folder .cache of root, and points this process and its
// children to it. Stop must follow, on any path.
func Start(root, scheme string) (_ *Server, err error) {
	if root, err = filepath.Abs(filepath.Join(root, ".cache")); err != nil {
		return nil, err
	}
	s := &Server{Scheme: scheme}
	if s.Address, err = freeAddress(); err != nil {
		return nil, err
	}
	switch scheme {
	case "s3":
		s.kind, err = newS3(root)
	case "gs":
		s.kind = &gs{bin: filepath.Join(root, "bin", "fake-gcs-server"), base: "http://" + s.Address}
	case "az":
		s.kind = &az{bin: filepath.Join(root, "azurite", "node_modules", ".bin", "azurite-blob"), base: "http://" + s.Address + "/" + azAccount}
	default:
		err = fmt.Errorf("there is no server for tests of the scheme %s", scheme)
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.start(), s.wait()); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	for k, v := range s.kind.environ(s.Address) {
		if err := os.Setenv(k, v); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
	}
	return s, nil
}

// StartAll starts a server of each scheme; stop ends them.
func StartAll(root string, schemes ...string) (all []*Server, stop func() error, err error) {
	stop = func() error {
		var errs []error
		for _, s := range all {
			errs = append(errs, s.Stop())
		}
		return errors.Join(errs...)
	}
	for _, scheme := range schemes {
		s, err := Start(root, scheme)
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		all = append(all, s)
	}
	return all, stop, nil
}

// freeAddress is an address on which nothing listens just now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (s *Server) start() error {
	cmd, err := s.kind.command(s.Address)
	if err != nil {
		return err
	}
	if _, err := os.Stat(cmd.Path); err != nil {
		return fmt.Errorf("the %s server for tests is missing; run make test-objects: %w", s.Scheme, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	runtime.LockOSThread() // the server dies with the thread that started it, also when a test run is killed
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	s.logs.Go(func() { // its log is not looked at, but must not fill the pipe
		for sc := bufio.NewScanner(out); sc.Scan(); {
		}
	})
	return nil
}

// Stop ends the server and removes what it has left.
func (s *Server) Stop() error {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		s.logs.Wait()
		_ = s.cmd.Wait() // it was killed
	}
	client.CloseIdleConnections()
	return s.kind.close()
}

// wait returns when the server answers.
func (s *Server) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+"/", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err == nil {
			return resp.Body.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the %s server for tests does not answer: %w", s.Scheme, err)
		}
	}
}

// Environ is what points a child process to the server at an address: its own, or that of a proxy before it.
func (s *Server) Environ(address string) []string {
	var out []string
	for k, v := range s.kind.environ(address) {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// Setenv points this process to the server for a test.
func (s *Server) Setenv(t *testing.T) {
	for k, v := range maps.All(s.kind.environ(s.Address)) {
		t.Setenv(k, v)
	}
}

// Bucket makes a bucket and returns its name.
func (s *Server) Bucket() (name string, err error) {
	name = fmt.Sprintf("bucket%d", s.buckets.Add(1))
	return name, s.kind.create(name)
}

// URL is the URL of a key.
func (s *Server) URL(bucket, key string) string { return s.Scheme + "://" + bucket + "/" + key }

// Keys lists the objects whose keys begin with prefix, in order.
func (s *Server) Keys(bucket, prefix string) ([]string, error) { return s.kind.keys(bucket, prefix) }

// Read reads an object.
func (s *Server) Read(bucket, key string) ([]byte, error) { return s.kind.read(bucket, key) }

// Write writes an object, without any metadata, as one that came in another way.
func (s *Server) Write(bucket, key string, data []byte) error {
	return s.kind.write(bucket, key, data)
}

// Remove removes an object.
func (s *Server) Remove(bucket, key string) error { return s.kind.remove(bucket, key) }

// Copy makes the folder dir a copy of the objects of a bucket below prefix, which ends in a slash or is empty.
func (s *Server) Copy(bucket, prefix, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	keys, err := s.Keys(bucket, prefix)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if strings.HasSuffix(k, "/") {
			continue
		}
		data, err := s.Read(bucket, k)
		if errors.Is(err, os.ErrNotExist) { // it went meanwhile
			continue
		}
		if err != nil {
			return err
		}
		at := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(k, prefix)))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(at, data, 0o666); err != nil { //nolint:gosec
			return err
		}
	}
	return nil
}
