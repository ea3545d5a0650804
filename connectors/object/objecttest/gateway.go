//go:build linux

package objecttest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Gateway is a real S3 server over a folder: buckets are its folders, objects are their files.
type Gateway struct {
	Address string // host:port
	Root    string // the folder
	cmd     *exec.Cmd
	logs    sync.WaitGroup
}

// Start starts the server program at bin, which make test-objects builds, and sets the credentials of this process and its children to
// those of the server. Stop must follow, on any path.
func Start(bin string) (_ *Gateway, err error) {
	if bin, err = filepath.Abs(bin); err != nil {
		return nil, err
	}
	if _, err := os.Stat(bin); err != nil {
		return nil, fmt.Errorf("the S3 server for tests is missing; run make test-objects: %w", err)
	}
	g := &Gateway{}
	if g.Root, err = os.MkdirTemp(quickFolder(), "sluice-objects-*"); err != nil {
		return nil, err
	}
	if err := g.start(bin); err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_REGION": "us-east-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull} {
		if err := os.Setenv(k, v); err != nil {
			return nil, errors.Join(err, g.Stop())
		}
	}
	if err := g.wait(); err != nil {
		return nil, errors.Join(err, g.Stop())
	}
	return g, nil
}

// quickFolder is a folder in memory where the system has one: these tests make many small objects and need no real disk. The server wants
// extended attributes, which not every such folder has.
func quickFolder() string {
	const dir = "/dev/shm"
	f, err := os.CreateTemp(dir, "sluice-probe-*")
	if err != nil {
		return ""
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if syscall.Setxattr(f.Name(), "user.sluice", []byte("1"), 0) != nil {
		return ""
	}
	return dir
}

func (g *Gateway) start(bin string) error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g.Address = free.Addr().String()
	if err := free.Close(); err != nil {
		return err
	}
	cmd := exec.Command(bin, "--keep-alive", "-p", g.Address, "-a", "testkey", "-s", "testsecret", "posix", g.Root) //nolint:gosec
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
	g.cmd = cmd
	g.logs.Go(func() { // its log is not looked at, but must not fill the pipe
		for sc := bufio.NewScanner(out); sc.Scan(); {
		}
	})
	return nil
}

// Stop ends the server and removes its folder.
func (g *Gateway) Stop() error {
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
		g.logs.Wait()
		_ = g.cmd.Wait() // it was killed
	}
	return os.RemoveAll(g.Root)
}

// Bucket makes a bucket and returns its name and its folder.
func (g *Gateway) Bucket() (name, dir string, err error) {
	if dir, err = os.MkdirTemp(g.Root, "b"); err != nil {
		return "", "", err
	}
	return strings.ToLower(filepath.Base(dir)), dir, nil
}

// Environ is what points a child process to the server, besides the credentials that Start has set.
func (g *Gateway) Environ() []string {
	return []string{"SLUICE_S3_ENDPOINT=http://" + g.Address, "SLUICE_S3_PATH_STYLE=1"}
}

// wait returns when the server answers.
func (g *Gateway) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	defer http.DefaultClient.CloseIdleConnections()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.Address+"/", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			return resp.Body.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the S3 server for tests does not answer: %w", err)
		}
	}
}
