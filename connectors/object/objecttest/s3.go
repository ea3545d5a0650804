//go:build linux

package objecttest

import (
	"crypto/md5" //nolint:gosec
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// s3 is versitygw over a folder: buckets are its folders, objects are their files.
type s3 struct{ bin, root string }

func newS3(cache string) (*s3, error) {
	root, err := os.MkdirTemp(quickFolder(), "sluice-objects-*")
	return &s3{filepath.Join(cache, "bin", "versitygw"), root}, err
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

const (
	s3Key    = "testkey"
	s3Secret = "testsecret"
)

func (s *s3) command(address string) (*exec.Cmd, error) {
	return exec.Command(s.bin, "--keep-alive", "-p", address, "-a", s3Key, "-s", s3Secret, "posix", s.root), nil //nolint:gosec
}

func (s *s3) environ(address string) map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": s3Key, "AWS_SECRET_ACCESS_KEY": s3Secret, "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "SLUICE_S3_ENDPOINT": "http://" + address, "SLUICE_S3_PATH_STYLE": "1"}
}

// at is the file of an object.
func (s *s3) at(bucket, key string) string {
	return filepath.Join(s.root, bucket, filepath.FromSlash(key))
}

func (s *s3) create(bucket string) error { return os.Mkdir(s.at(bucket, ""), 0o777) }

// uploads is where the server keeps parts of uploads that are not complete.
const uploads = ".sgwtmp"

func (s *s3) keys(bucket, prefix string) (out []string, err error) {
	root := s.at(bucket, "")
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == uploads:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if key := filepath.ToSlash(strings.TrimPrefix(p, root+"/")); strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

func (s *s3) read(bucket, key string) ([]byte, error) { return os.ReadFile(s.at(bucket, key)) }

func (s *s3) write(bucket, key string, data []byte) error {
	at := s.at(bucket, key)
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		return err
	}
	if err := os.Remove(at); err != nil && !os.IsNotExist(err) { // with its attributes
		return err
	}
	if err := os.WriteFile(at, data, 0o666); err != nil { //nolint:gosec
		return err
	}
	sum := md5.Sum(data) //nolint:gosec // the server keeps it as an attribute of the file
	return syscall.Setxattr(at, "user.etag", fmt.Appendf(nil, `"%x"`, sum), 0)
}

func (s *s3) remove(bucket, key string) error { return os.Remove(s.at(bucket, key)) }

func (s *s3) close() error { return os.RemoveAll(s.root) }

// Folder is the folder that is the bucket, if the server keeps buckets as folders, which only that of s3 does.
func (s *Server) Folder(bucket string) (dir string, ok bool) {
	if k, ok := s.kind.(*s3); ok {
		return k.at(bucket, ""), true
	}
	return "", false
}

// Uploads counts the parts of uploads to a bucket that are not complete. Only the server of s3 shows them.
func (s *Server) Uploads(bucket string) (n int) {
	_ = filepath.WalkDir(filepath.Join(s.kind.(*s3).at(bucket, ""), uploads, "multipart"), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return nil
	})
	return n
}
