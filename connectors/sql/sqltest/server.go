//go:build linux

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNone says that no server is installed.
var ErrNone = errors.New("no PostgreSQL server is installed; run make test-sql, which installs one")

// Required tells whether tests must not be skipped for want of a server.
func Required() bool { return os.Getenv("SLUICE_REQUIRE_POSTGRES") != "" }

// Server is a PostgreSQL server of the tests. Its superuser is "sluice", without a password.
type Server struct {
	Port int
	dir  string // folder of everything
	bin  string
	cred *syscall.Credential
	cmd  *exec.Cmd
	next atomic.Int64
}

// FindBin finds the folder of initdb and postgres: SLUICE_POSTGRES, the PATH, or where Debian puts them.
func FindBin() (string, error) {
	dirs := []string{os.Getenv("SLUICE_POSTGRES")}
	if p, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(found)
	for _, d := range append(dirs, found...) {
		if d == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(d, "initdb")); err == nil {
			return d, nil
		}
	}
	return "", ErrNone
}

// Start makes a cluster and starts a server on it. Stop must follow, on any path. The server dies with the thread that calls Start, so
// call it from TestMain.
func Start() (_ *Server, err error) {
	s := &Server{}
	if s.bin, err = FindBin(); err != nil {
		return nil, err
	}
	if s.cred, err = unprivileged(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(quickFolder(), "sluice-postgres-*"); err != nil {
		return nil, err
	}
	if err := s.init(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	runtime.LockOSThread()
	if err := s.Run(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// quickFolder is a folder in memory where the system has one.
func quickFolder() string {
	if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// unprivileged is who the server runs as: PostgreSQL refuses the superuser.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uerr, gerr); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("start postgres: it does not run as root, and there is no other user")
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) init() error {
	if s.cred != nil {
		if err := os.Chown(s.dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return err
		}
	}
	cmd := exec.Command(filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "sluice", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8") //nolint:gosec
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	hba := "host all secret 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
	return os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(hba), 0o644) //nolint:gosec
}

// Run starts the server, anew after Kill, on the port that it had.
func (s *Server) Run() error {
	if s.Port == 0 {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.Port = free.Addr().(*net.TCPAddr).Port //nolint // of a TCP listener
		if err := free.Close(); err != nil {
			return err
		}
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", strconv.Itoa(s.Port), "-c", "listen_addresses=127.0.0.1", //nolint:gosec
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=60", "-c", "shared_buffers=32MB")
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Pdeathsig: syscall.SIGQUIT}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return s.wait()
}

func (s *Server) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.Exec(ctx, "postgres", "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("the server does not answer: %w: %s", err, log)
		}
	}
}

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() error {
	if s.cmd == nil {
		return nil
	}
	err := s.cmd.Process.Signal(syscall.SIGQUIT) // the immediate shutdown: no checkpoint, clients are cut off
	_ = s.cmd.Wait()                             // it reports the signal
	s.cmd = nil
	return err
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() error {
	err := s.Kill()
	return errors.Join(err, os.RemoveAll(s.dir))
}

// URL is that of a database.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://sluice@127.0.0.1:%d/%s", s.Port, database)
}

// Exec runs statements.
func (s *Server) Exec(ctx context.Context, database, statements string) error {
	c, err := pgconn.Connect(ctx, s.URL(database))
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, statements).ReadAll()
	return errors.Join(err, c.Close(ctx))
}

// Query runs a query; fields come as text, null as "∅".
func (s *Server) Query(ctx context.Context, database, query string) (out [][]string, err error) {
	c, err := pgconn.Connect(ctx, s.URL(database))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	res := c.ExecParams(ctx, query, nil, nil, nil, nil).Read()
	for _, row := range res.Rows {
		text := make([]string, len(row))
		for i, v := range row {
			if text[i] = string(v); v == nil {
				text[i] = "∅"
			}
		}
		out = append(out, text)
	}
	return out, res.Err
}

// Database makes a database for one test and returns its name.
func (s *Server) Database(ctx context.Context) (string, error) {
	name := fmt.Sprintf("test%d_%d", os.Getpid(), s.next.Add(1))
	return name, s.Exec(ctx, "postgres", "CREATE DATABASE "+strings.ToLower(name))
}
