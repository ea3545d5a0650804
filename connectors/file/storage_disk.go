package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Disk is the seam between the file sink, its storage and the local file system: every operation that writes goes through it, so
// that tests can make any of them fail. Paths are the system's own. It is safe for concurrent use.
type Disk interface {
	// Mkdir makes one folder; errors satisfy fs.ErrExist and fs.ErrNotExist as os.Mkdir's do.
	Mkdir(path string) error
	// Create makes a new file for writing; one that exists is an error.
	Create(path string) (DiskFile, error)
	// Append opens a file for appending, making it if there is none.
	Append(path string) (DiskFile, error)
	// Open opens a file for reading.
	Open(path string) (DiskFile, error)
	// Rename moves a file, replacing what is at to.
	Rename(from, to string) error
	// Link gives a file a second name; a name that exists is an error that satisfies fs.ErrExist.
	Link(from, to string) error
	// Remove deletes a file or an empty folder.
	Remove(path string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(path string) error
	// ReadDir lists a folder, by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	// Lstat says what is at path, without following a link.
	Lstat(path string) (fs.FileInfo, error)
	// Lock takes an exclusive lock that ends with the process, and writes owner beside it for others to read. held is what the
	// holder wrote if another process has it.
	Lock(path string, owner []byte) (release func(unlink bool) error, held []byte, err error)
	// Free is the space left at path, or at the nearest folder above it that exists; -1 if unknown.
	Free(path string) int64
}

// DiskFile is an open file of a Disk.
type DiskFile interface {
	io.Writer
	io.ReaderAt
	Sync() error
	Size() (int64, error)
	Close() error
}

// OSDisk is the Disk of this machine.
type OSDisk struct{}

var _ Disk = OSDisk{}

type osFile struct{ *os.File }

// Size returns the length of the file.
func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func openDisk(path string, flag int) (DiskFile, error) {
	f, err := os.OpenFile(path, flag, 0o666)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Mkdir implements Disk.
func (OSDisk) Mkdir(path string) error { return os.Mkdir(path, 0o777) }

// Create implements Disk.
func (OSDisk) Create(path string) (DiskFile, error) {
	return openDisk(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
}

// Append implements Disk.
func (OSDisk) Append(path string) (DiskFile, error) {
	return openDisk(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
}

// Open implements Disk.
func (OSDisk) Open(path string) (DiskFile, error) { return openDisk(path, os.O_RDONLY) }

// Rename implements Disk.
func (OSDisk) Rename(from, to string) error { return os.Rename(from, to) }

// Link implements Disk.
func (OSDisk) Link(from, to string) error { return os.Link(from, to) }

// Remove implements Disk.
func (OSDisk) Remove(path string) error { return os.Remove(path) }

// SyncDir implements Disk.
func (OSDisk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) { // some network and FUSE file systems cannot sync folders
		err = nil
	}
	return errors.Join(err, d.Close())
}

// ReadDir implements Disk.
func (OSDisk) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Lstat implements Disk.
func (OSDisk) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// Free implements Disk.
func (OSDisk) Free(path string) int64 {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(path, &st)
		if err == nil {
			return int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // the types differ between systems
		}
		if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
			path = parent
			continue
		}
		return -1
	}
}

// Lock implements Disk with flock. The file that was locked must still be the one at path afterwards: a former holder may have
// removed it in between.
func (OSDisk) Lock(path string, owner []byte) (release func(unlink bool) error, held []byte, err error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			held, _ := io.ReadAll(io.LimitReader(f, 4096))
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, append([]byte{}, bytes.TrimSpace(held)...), unix.EWOULDBLOCK
			}
			return nil, nil, fmt.Errorf("flock %s: %w", path, err)
		}
		same, err := sameFile(f, path)
		if err == nil && same {
			err = errors.Join(f.Truncate(0), writeAt(f, owner))
		}
		if err != nil || !same {
			f.Close()
			if err != nil {
				return nil, nil, err
			}
			continue
		}
		return func(unlink bool) error {
			var err error
			if unlink {
				err = os.Remove(path)
			}
			return errors.Join(err, f.Close())
		}, nil, nil
	}
}

func writeAt(f *os.File, p []byte) error {
	_, err := f.WriteAt(p, 0)
	return err
}

func sameFile(f *os.File, path string) (bool, error) {
	a, err := f.Stat()
	if err != nil {
		return false, err
	}
	b, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(a, b), nil
}

// writeAll writes all of p, or says why not.
func writeAll(w io.Writer, p []byte) error {
	n, err := w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

// mkdirDurable makes a folder and those above it; each new name is made durable in its parent. It returns the topmost folder that
// it made, or "".
func mkdirDurable(d Disk, path string) (made string, err error) {
	err = d.Mkdir(path)
	switch {
	case err == nil:
		return path, d.SyncDir(filepath.Dir(path))
	case errors.Is(err, fs.ErrExist):
		st, serr := os.Stat(path)
		if serr == nil && !st.IsDir() {
			return "", fmt.Errorf("make folder %s: a file of that name exists", path)
		}
		return "", nil
	case !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path:
		return "", err
	}
	above, err := mkdirDurable(d, filepath.Dir(path))
	if err != nil {
		return above, err
	}
	made, err = mkdirDurable(d, path)
	if above != "" {
		made = above
	}
	return made, err
}

// spaceError says how much room is left when a write failed for want of it, and what to do about an I/O error.
func spaceError(d Disk, err error, path string) error {
	if r, ok := d.(RemoteDisk); ok {
		path = r.URL(path)
	}
	if pe, ok := err.(*fs.PathError); ok { // it names the path a second time
		err = pe.Err
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		free := "unknown"
		if n := d.Free(filepath.Dir(path)); n >= 0 {
			free = diskSize(n)
		}
		return fmt.Errorf("write %s: the disk is full (%s free): free some space or write elsewhere, then run the same command again: %w",
			path, free, err)
	case errors.Is(err, syscall.EIO):
		return fmt.Errorf("write %s: the disk reports an I/O error; what was written since the last commit is not trusted: check the disk, then run the same command again: %w",
			path, err)
	}
	return fmt.Errorf("write %s: %w", path, err)
}

func diskSize(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if u := int64(1) << (30 - 10*i); n >= u {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u), unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}
