package connectortest

import (
	"syscall"

	"github.com/sluice-data/sluice/connectors/file"
)

const errFull = syscall.ENOSPC

// fullDisk is a disk with room for so many bytes.
type fullDisk struct {
	file.OSDisk
	left int64
}

// Create implements file.Disk.
func (d *fullDisk) Create(path string) (file.DiskFile, error) {
	f, err := d.OSDisk.Create(path)
	return &fullFile{f, d}, err
}

type fullFile struct {
	file.DiskFile
	d *fullDisk
}

func (f *fullFile) Write(p []byte) (int, error) {
	room := min(int64(len(p)), max(f.d.left, 0))
	f.d.left -= int64(len(p))
	n, err := f.DiskFile.Write(p[:room])
	if err == nil && n < len(p) {
		err = errFull
	}
	return n, err
}
