//go:build unix

package child

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Maps are files of shared memory as a child sees them, each mapped once. It is used by one goroutine.
type Maps struct{ open map[string][]byte }

// View returns the bytes at a place. They stay mapped until Close.
func (m *Maps) View(at Place) ([]byte, error) {
	mem, ok := m.open[at.Path]
	if !ok {
		var err error
		if mem, err = mapFile(at.Path); err != nil {
			return nil, err
		}
		if m.open == nil {
			m.open = map[string][]byte{}
		}
		m.open[at.Path] = mem
	}
	if at.At < 0 || at.N < 0 || at.At > int64(len(mem)) || at.N > int64(len(mem))-at.At {
		return nil, fmt.Errorf("view %s: [%d, %d) is not within its %d bytes", at.Path, at.At, at.At+at.N, len(mem))
	}
	return mem[at.At : at.At+at.N : at.At+at.N], nil
}

// Close ends all mappings.
func (m *Maps) Close() error {
	var errs []error
	for _, mem := range m.open {
		errs = append(errs, unix.Munmap(mem))
	}
	m.open = nil
	return errors.Join(errs...)
}

func mapFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("map shared memory: %w", err)
	}
	defer f.Close() // the mapping stays
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("map shared memory: %w", err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return mem, nil
}
